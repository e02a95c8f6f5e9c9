"""The expressions of matchConditions: parsed and evaluated by a CEL library, in Kubernetes' terms.

`checking` refuses what Kubernetes refuses when a webhook is configured, `functions` makes operators
and functions behave as they do there, `conditions` is what admission uses. Of Kubernetes' own
libraries only those on strings and lists are here; the others, and optional syntax, are refused by
name.
"""
