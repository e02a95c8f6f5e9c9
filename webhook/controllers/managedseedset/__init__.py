"""MANAGEDSEEDSETS: creates, scales and updates the seeds of a set.

`observation` collects what a plan reads, `revisions` keeps the history of templates, `scaling`,
`removal` and `rolling` propose writes in a `plan_draft`, `manifests` renders objects, `status`
writes the status, and `plan` puts them in order. `mapping` maps changes to sets. `collector`
exports metrics; everything else is pure.
"""
