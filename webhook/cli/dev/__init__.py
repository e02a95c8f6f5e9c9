"""A LANDSCAPE ON A LAPTOP. The demo landscape, the local provider, and the command that runs both.

What lives here is for development and for tests; nothing of it runs in a cluster.
"""
