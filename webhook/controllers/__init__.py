"""CONTROLLERS: reconcile objects of the cluster, one package a controller.

A plan is pure: object and snapshot in, actions out; `webhook.runtime` carries the actions out.
The `controller` of a package holds its row, and `table` lists all rows. `status_patch` writes
conditions and `gauges` exports objects as metrics. Collectors of metrics, and what keeps our own
`installation`, are apart from plans. The scheduler is in `webhook.placement`.
"""
