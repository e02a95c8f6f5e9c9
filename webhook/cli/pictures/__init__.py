"""Pictures that commands draw: shapes, and two ways to write them, SVG and PNG.

No library: what is drawn are lines, boxes and short texts, and a server's image needs no more.
"""
