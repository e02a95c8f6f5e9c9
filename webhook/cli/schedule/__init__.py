"""`kubectl espalier schedule`: when which floors hold, for the next days.

What a timeline is made of is worked out from the schedules alone, without I/O; texts and drawings
are made from it.
"""
