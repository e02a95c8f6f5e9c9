"""`espalier simulate`: try an autoscaler on arrivals of shoots before it is deployed.

`arrivals` lists when shoots are created and deleted, `engine` runs the scheduler and the
autoscaler of the server over simulated days, `nodegroups` simulates the bounds of a worker pool,
`chart` draws the results, `command` reads arguments and prints.
"""
