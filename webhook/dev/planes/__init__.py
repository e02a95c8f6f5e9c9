"""Control planes as child processes on loopback, for `espalier dev --api` and for tests.

`build` builds the real ones of `components` from their Go modules, `certificates` and `access`
issue certificates and kubeconfigs, `process` and `plane` start, pause and stop the servers.
`embedded`, `kubernetes` and `gardener` are the control planes. Every server listens on loopback
only, and nothing here depends on what Espalier does with a cluster.
"""
