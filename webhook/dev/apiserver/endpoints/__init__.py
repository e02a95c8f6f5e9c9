"""The HTTP side: requests are parsed into calls, results are encoded into responses.

`requestinfo` and `calls` describe a request, `bodies` with `gojson` and `decoding` decode its body,
`handlers` runs the verb. `responses`, `tables` and `watchstream` encode the result; `discovery` and
`openapi` build the documents about the served resources.
"""
