"""The columns of `kubectl get` for built-in kinds.

Each module prints some kinds: functions from an object to one cell. `table` puts them under the
headings that Kubernetes uses. Nothing here knows HTTP or custom resources.
"""
