"""Filters: each module holds one reason to reject a seed and imports no other filter.

A filter reads a seed and one aspect of the shoot, so its results are cached by that aspect.
Rejections are constants: they are counted, compared and shown to users.
"""
