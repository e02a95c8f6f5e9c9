"""A small Kubernetes API server for laptops and hermetic tests.

It imports `webhook.kube` only; the rest of the program reaches it over HTTPS, like any client.
Whatever kubectl and other clients see behaves as Kubernetes v1.36; every difference is a bug.

`endpoints` decodes requests and encodes responses, `auth` authenticates and authorizes, `verbs`
executes requests, `registry` holds the resources, `admission` the plugins, `webhooks` calls
webhooks, `storage` stores the objects, and `controllers` are those of kube-controller-manager that
clients rely on. `builtin` describes the built-in kinds, `fieldownership` tracks managedFields,
`cel` evaluates expressions, and `protobuf` decodes Kubernetes' wire format.
"""
