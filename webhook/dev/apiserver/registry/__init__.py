"""The served resources, and how each is prepared and validated before it is stored.

`registry` holds the resources that `resources` describes, `versionpriority` orders their versions.
`strategies` prepares and validates writes with `objectmeta` and `scalepaths`, `conversion` converts
between versions, and `managedfields` tracks field managers.
"""
