"""NOUNS. Kubernetes and Gardener objects as data.

Kinds, their Structs, quantities, selectors, conditions, patches, schemas.
Imports nothing of ours, does no I/O, knows no rules.
"""
