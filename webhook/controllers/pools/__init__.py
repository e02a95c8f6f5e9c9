"""POOLS: worker pools whose zones share permits: fields, records, minimums and nudges.

`fields` fills in the pool's fields and creates its record, `records` updates the record with
`minimum` and `scale_ups`, `nudges` triggers machine-controller-manager, and `shoot_clusters` reads
shoots' own clusters. The rules are in `domain.pools`; permits are granted at admission.
"""
