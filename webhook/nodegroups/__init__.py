"""NODE GROUPS: worker pools as node groups of cluster-autoscaler, over gRPC.

`service` is the gRPC server and `provider` answers its methods, from `views` of the cache.
`resizer` changes sizes of MachineDeployments (`deployments`), `permits` grants what admission
decides; both first write the new size into the record of the pool (`records`) by
compare-and-swap. The rules are in `domain.pools`. The wire format is `provider.proto`; code that
is generated from it is not edited.
"""
