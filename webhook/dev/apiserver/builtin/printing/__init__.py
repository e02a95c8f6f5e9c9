"""Server-side printing of built-in kinds: the columns of `kubectl get`.

Each module has the columns of some kinds, with functions from an object to a cell; `table` lists
them all. HTTP and custom resources are handled elsewhere.
"""
