"""ROLLOUTS BESIDE A GARDENER. Its controller-manager makes and deletes the replicas of sets.

Here only what it never finished is done, for sets that are annotated with `rollout: "true"`:
revisions, rolling updates, partition, pause. No replica is made or deleted here, and none of the
counters is written that Gardener's own validation compares.
"""
