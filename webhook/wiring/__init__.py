"""THE COMPOSITION ROOT. Builds the rooms, connects them, starts them in order, stops in reverse.

The only place that knows all rooms. No rule and no protocol lives here: what is more than a line
of connecting belongs to a room.
"""
