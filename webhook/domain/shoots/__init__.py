"""What follows from a shoot alone.

`ha` and `health` read its availability and state, `maintenance` its window, `unscheduled` whether
it needs a seed, `cloud_profiles` and `machine_images` what it may use, `quota` what it costs.
"""
