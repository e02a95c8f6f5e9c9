"""THE WIRE to an API server: connection, requests, watches, and the cache that they fill.

Knows objects and how API servers fail, no rules. What was seen is kept in `state`; decisions get
it as a snapshot. Nothing here decides what to write.
"""
