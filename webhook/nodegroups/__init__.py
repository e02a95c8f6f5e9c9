"""NODE GROUPS: worker pools offered to cluster-autoscaler, over gRPC.

Answers come from memory; what changes a MachineDeployment is first written into the record of its
pool, by compare-and-swap. The rules are `domain.pools`, `domain.sizing` and `domain.poolrecord`;
the wire format is `provider.proto`, and what is generated from it is not edited.
"""
