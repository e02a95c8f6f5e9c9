"""SEEDAUTOSCALERS: scales a set of seeds by their utilization and by pending shoots.

`demand` finds the pending shoots that a new seed would help, `measurement` measures the seeds,
`status_history` keeps what stabilization windows and rates need in the object's status, `cordon`
drains seeds and releases them, `observation` puts this together, `plan` decides and `report` writes
the status. `prometheus` samples metrics that the settings name a query for,
and `collector` exports metrics; everything else is pure.
"""
