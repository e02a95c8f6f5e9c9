"""`kubectl espalier rollout`: follow, pause and undo rolling updates of ManagedSeedSets.

`command` reads arguments, `sets` reads and writes the cluster, `differences` and `progress` turn
objects into text without I/O.
"""
