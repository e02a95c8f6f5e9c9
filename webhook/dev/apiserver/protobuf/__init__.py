"""Kubernetes' protobuf encoding of the built-in kinds, which typed Go clients send by default.

`descriptors.json` lists the fields of each type with their numbers. `generate` writes it from the
Go sources of a Kubernetes release, and `decoder` decodes bodies with it. Responses are JSON, which
every client accepts.
"""
