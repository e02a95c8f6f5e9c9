"""Scheduled scaling at its edges: floors come at the second they should, and go without a trace.

Admission holds a floor at every write; what is here makes the first write and the last one,
settles what is owed wherever a note says so, and tells people how it stands.
"""
