"""Plain functions from a `layout` to the objects of an installation."""
