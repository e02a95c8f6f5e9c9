"""MEMORY: what we last saw of the cluster, and what we assume until we see it.

Stores with their indexes and sums, the overlay of our own writes, and the dated view that a
decision gets. Pure: no I/O, no clock, no tasks; events and times are handed in by `cluster`.
Two tables say what is kept at hand: `INDEXES` and `TOTALS`.
"""
