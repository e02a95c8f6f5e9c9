"""Whether a seed fits a shoot.

`distance` and `region_config` compare regions, `networks` address ranges, `seed_selector` labels
and providers, `taints` taints and tolerations.
"""
