"""One reason to refuse a seed a module; no module knows another.

A filter judges a seed by what the seed and one aspect of the shoot say, so its answers are
remembered by that aspect. Reasons are constants: they are counted, compared and shown to people.
"""
