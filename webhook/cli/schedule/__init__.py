"""`kubectl espalier schedule`: when which floors of scheduled scaling apply.

`timeline` computes windows and floors from the schedules without I/O; `terminal` and `drawing`
render them.
"""
