"""Who owns which field of an object: metadata.managedFields and server-side apply.

Pure functions over plain objects and structural schemas; nothing here knows storage, HTTP or the
clock. `sets` is the algebra of field sets, `schemas` reads how a value is divided into fields,
`values` turns values into sets, `merging` lays a configuration over a live value, `managers` reads
and writes the entries, `tracking` is what verbs call.
"""
