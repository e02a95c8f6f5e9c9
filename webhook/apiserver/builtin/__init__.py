"""The kinds that every Kubernetes API server has, as data and small pure functions.

Here live the table of served built-in kinds, their schemas (generated from kubernetes_asyncio's
models and one table of shapes), the defaults and checks that users see, and their columns for
`kubectl get`. Storage, HTTP and custom resources live elsewhere.
"""
