"""GARDENERROLLOUT: rolling updates of sets whose replicas gardener-controller-manager creates.

It does what Gardener leaves open, for sets annotated with `rollout: "true"`: revisions, rolling
updates, partition and pause. It neither creates nor deletes replicas, and never writes the
counters that Gardener's validation compares. `whole_shoots` reads Shoots with all their fields;
`replicas`, `rolling`, `status` and `plan` are pure.
"""
