"""ACTION: what is done about the cluster, one concern a module.

Plans are pure: object and snapshot in, actions out; `runtime` carries them out. The one table of
them is `CONTROLLERS`. Beside it stands placement, whose two writes guard every seed's capacity.
"""
