"""The verbs of the API, with subresources.

`reads` gets and lists, `watches` watches, `writes` creates and updates, `patches` patches with
`strategicmerge`, and `deletions` deletes. `scale` and `podsubresources` serve subresources, and
`virtual` serves creates that are not stored.
"""
