"""The local provider: controllers that simulate a landscape's missing parts.

They do to objects what gardenlets, extensions and machine-controller-manager do in a real
landscape: report status, renew leases, create Machines and remove finalizers. `controllers` lists
and runs them; `simulation` holds the annotation `espalier.gardener.cloud/simulate`, which switches
failures on. Nothing here is part of Espalier's own control loops.
"""
