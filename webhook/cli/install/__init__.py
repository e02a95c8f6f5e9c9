"""INSTALLING. What an operator applies to a cluster, and how to take it away again.

Generators are plain functions from a `Layout` to objects; only `landscape` and `uninstall` talk
to a cluster. Nothing here decides about other people's objects.
"""
