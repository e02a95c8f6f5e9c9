"""Kubernetes' protobuf encoding of the built-in kinds, which typed Go clients write by default.

`fields.json` says which field of which type has which number; `generate` makes it anew from the Go
sources of a Kubernetes release; `decoding` reads bodies by it. Answers are JSON, which all accept.
"""
