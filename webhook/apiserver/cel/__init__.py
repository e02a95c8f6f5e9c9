"""The expressions of matchConditions and of schemas, evaluated by a CEL library.

`checking` refuses what Kubernetes refuses when a webhook is configured, `functions` makes operators
and functions behave as they do there, `conditions` is what admission uses, `rules` what custom
resources are judged by. Of Kubernetes' own
libraries only those on strings and lists are here; the others, and optional syntax, are refused by
name.
"""
