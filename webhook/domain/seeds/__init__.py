"""What follows from a seed and the shoots on it.

`capacity` is what it offers, `usage` what shoots use of it, `shoot_counts` how many it hosts,
`readiness` whether it is ready, `zones` where it spreads.
"""
