"""Field ownership: metadata.managedFields and server-side apply.

Pure functions over plain objects and structural schemas; they use no storage, HTTP or
clock. The names are those of Kubernetes' structured-merge-diff: `fieldsets` is the algebra of field
sets, `fieldschemas` reads how a schema divides a value into fields, `typedvalues` computes field
sets and comparisons of values, `merge` merges a configuration into a live object, `validation`
checks it against the schema, `prune` removes fields that are not applied any more, `managers`
encodes the entries, `conflicts` reports fields of other managers, `lastapplied` reads and writes
kubectl's annotation, and `fieldmanager` is the entry point for updates and applies.
"""
