"""The kinds that every Kubernetes API server serves, as data and small pure functions.

This package holds the table of built-in kinds, their schemas (generated from kubernetes_asyncio's
models and the table of field markers), their defaulting and validation, what the server and its
admission plugins add to them, and their columns for `kubectl get`. Storage, HTTP and custom
resources live elsewhere.
"""
