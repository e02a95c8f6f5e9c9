"""`kubectl espalier rollout`: follow, pause and take back rolling updates of sets of seeds.

`command` reads arguments, `sets` talks to the cluster, `differences` and `progress` are pure and
turn objects into what people read.
"""
