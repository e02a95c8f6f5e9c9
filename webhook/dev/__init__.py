"""Development on one machine: `espalier dev`, its control planes and its simulations.

`apiserver` is the embedded Kubernetes API server, `planes` runs real control planes as child
processes, `landscapes` holds what is loaded into them, `localprovider` simulates gardenlets and
machines, `reference` generates pages of the documentation. The dependencies of this package are
the extra `espalier[dev]`; no other package imports it, and nothing of it runs in a cluster.
"""
