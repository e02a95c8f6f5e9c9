"""What is true of every Kubernetes API: the conventions that all objects and servers share.

Objects: `meta`, `conditions`, `identifiers`, `selectors` with `requirements`, `resource_versions`.
Values: `quantity`, `durations`, `timestamps`, `formats`, `jsontext` with `nesting`, `gotext`,
`patches`.
Validation and errors: `schema` with `schemachecks`, `schemalists` and `schemapatterns`,
`fielderrors`, `status`.
`clock` is the one source of time. The package defines no kind and imports no other package.
"""
