"""Certificates of servers and clients: create, store, renew and rotate them.

`authority` signs certificates, `material` decides when to renew them, `bundle` loads and validates
a key pair with its CA certificates. `directory` watches files that others write, `rotation` decides
when a listener changes its key pair, `serving` changes it, and `overlap` keeps former authorities
published for a while. Nothing here depends on an API server or on kinds.
"""
