"""What may enter the cluster: `decide(request, snapshot)` and the policies behind it.

`table` lists every policy; `engine` runs those that a request concerns; `review` reads what API
servers ask, `response` writes what they are told; `configuration` turns the table into webhook
configurations. One concern is one module in `policies`; judgement that two of them share lives in
`rules`, knowledge in `domain`.
Nothing here does I/O: what is missing is asked for through `Needs`.
"""
