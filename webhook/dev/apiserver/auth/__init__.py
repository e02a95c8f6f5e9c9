"""Authentication and authorization of requests.

`filters` runs `authentication`, `impersonation` and `authorization` for each request. `rbac`
evaluates roles and bindings, `bootstrappolicy` holds the default ones, and `escalation` prevents
users from granting more than they hold. `tokens` signs ServiceAccount tokens, `tokenrequests` and
`accessreviews` serve the review kinds, and `certificates` creates the certificates of the server.
"""
