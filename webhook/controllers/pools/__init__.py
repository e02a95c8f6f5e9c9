"""Worker pools: their fields, their records, zones without resources, minimums, nudges.

Plans only: rules are `domain.pools`, `domain.permits` and `domain.troubles`; permits themselves are
taken at admission, and machines by machine-controller-manager.
"""
