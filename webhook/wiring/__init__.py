"""THE COMPOSITION ROOT: builds the parts, connects them, starts them in order, stops in reverse.

`program` is the server behind `espalier serve`; `leader_tasks`, `nodegroups`, `certificates`,
`readiness` and `api_watcher` build its parts, and `watched_kinds` selects what the cache watches.
The only package that imports all others. It holds no rules and no protocols.
"""
