"""The state of the cluster as its watches report it, with our own unconfirmed writes on top.

`store` holds one kind with its indexes (`indexer`, table `INDEXES`) and sums (`tally`, table
`TOTALS`), `overlay` adds assumed writes, `cluster_state` joins all kinds, and `snapshot` is the
read-only view that one decision gets. `live_reads` names what a decision may read from the API
server besides, `views` the Protocols through which other packages use the cache of
`webhook.cluster`, and `worker_pools` reads pools from a snapshot. Pure: no I/O, no clock, no
tasks; `webhook.cluster` passes events and times in.
"""
