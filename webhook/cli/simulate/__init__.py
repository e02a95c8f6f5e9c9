"""`espalier simulate`: try an autoscaler on arrivals of shoots before it is let loose.

`arrivals` says when shoots come and go, `engine` lets days pass with the very code that places
shoots and scales sets, `chart` draws, `command` reads arguments and prints.
"""
