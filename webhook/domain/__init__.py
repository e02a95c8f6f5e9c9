"""RULES shared by admission, scheduling and controllers.

Pure: Structs and plain values in, values out. No I/O, no clock, no memory of its own;
what two policies, filters or plans need alike lives here.
"""
