"""Kinds and Structs: every object that Espalier reads or writes, as data.

`kinds` is the table of all kinds, `columns` their printer columns, `names` the labels, annotations,
finalizers and condition types, `marks` those that are written on objects of others, `event_reasons`
the reasons of Events. The other modules hold Structs by subject, `pool_records` the
ConfigMaps of pool records. `openapi` and `crds` generate schemas and CustomResourceDefinitions from
the Structs; `decode` reads JSON into them. The docstrings and descriptions of Structs appear in the
generated CRDs. Pure: no I/O and no rules; imports only `webhook.kube`.
"""
