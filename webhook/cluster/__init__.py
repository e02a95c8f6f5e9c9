"""THE CLIENT SIDE of an API server: connection, requests, lists, watches and the cache.

`config` loads address and credentials, `client` sends what `requests` builds, `errors` holds the
failures. `reflector` lists and watches a kind, `informer` stores it in `webhook.state`, `cache`
joins all kinds, `definition_listener` wakes their watches when a CRD or an APIService changes, and
`live_reader` reads what the cache lacks. `discovery` reads which APIs a cluster serves. No rules:
nothing here decides what to write.
"""
