"""SeedAutoscalers: how many seeds a set has, by how full they are and by who waits.

`demand` finds the shoots that a new seed would help, `metrics` measures the seeds there are,
`memory` keeps what windows and rates look back at in the object itself, `cordon` lets seeds
drain, and `plan` decides. Numbers come from our own sums, or from `prometheus`, which samples.
"""
