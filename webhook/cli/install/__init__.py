"""INSTALLATION. What an operator applies to a cluster, and how it is removed again.

`generate` makes the manifests from a `layout`, `examine` checks a machine and a cluster, and
`uninstall` removes an installation. Only `examine` and `uninstall` talk to a cluster.
"""
