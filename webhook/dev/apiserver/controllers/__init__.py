"""Controllers that run inside the API server, as those of kube-controller-manager do.

`garbagecollector`, `namespaces`, `disruption` and `definitions` (CustomResourceDefinitions) are the
controllers; they write through `client` and process keys from a `workqueue`.
"""
