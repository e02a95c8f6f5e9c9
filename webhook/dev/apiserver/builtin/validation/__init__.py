"""Validation of built-in kinds, with the messages of Kubernetes.

Functions yield field errors in the order in which Kubernetes lists them; `table` lists the
functions of each kind. Objects are decoded, defaulted and of the right types before validation.
"""
