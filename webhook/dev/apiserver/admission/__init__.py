"""The admission plugins between a request and the store.

`chain` holds their interface and calls them in order, `namespacelifecycle` and `plugins` hold them.
"""
