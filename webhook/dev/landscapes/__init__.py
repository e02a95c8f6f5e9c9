"""The landscapes that `espalier dev` loads into an API server.

`demo` is the demo landscape, `gardenerdemo` adapts it to a real Gardener, and `loader` reads a
landscape and creates its objects.
"""
