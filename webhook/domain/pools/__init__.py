"""Worker pools that span several MachineDeployments, one for each zone.

`discovery` builds pools from what `pool_definition` reads of their MachineDeployments and
`pool_fields` writes there, `sizing` distributes their bounds, `even_sizes` spreads nodes evenly,
`node_groups`, `increases` and `scale_down` are the autoscaler's view. `pool_record` with
`record_encoding` is the state that servers share, `permits`, `machine_sets` and `machines` control
rolling updates, `zone_backoff` avoids zones that lack resources.
"""
