"""Real control planes as child processes on loopback, for `espalier dev --api` and for tests.

Building them from their Go modules, their certificates, starting, pausing and stopping them.
Nothing here knows what Espalier does with a cluster, and nothing listens beyond loopback.
"""
