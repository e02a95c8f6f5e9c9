"""SCHEDULEDSCALING: applies and removes floors at the start and finish of windows.

Admission enforces a floor on every write; `floors` makes the first and the last write, with
`effects` for what each object should look like and `edges` for when. `status` and `observation`
report, `mapping` maps changes to objects, and `controller` holds the controllers. `collector`
exports metrics; everything else is pure.
"""
