"""Validation that several policies share: templates are validated like the objects they create.

Findings name the fields that Gardener names: of two overlapping ranges the later one, an image by
its own field, a selector by its invalid part. `tests/behaviour/test_admission_like_gardener.py`
compares both on a real Gardener.
"""
