"""Defaulting of built-in kinds: the values that Kubernetes sets where an object omits them.

There is one function for each kind. It edits the object in place and never overwrites a value.
"""
