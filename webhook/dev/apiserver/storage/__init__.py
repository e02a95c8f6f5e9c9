"""Stored objects: SQLite on disk, collections in memory.

`store` writes, `collection` holds the objects of one resource and its log of changes, `entries` one
object. `fieldselectors` computes selectable fields, `lookup` reads for validation and admission.
"""
