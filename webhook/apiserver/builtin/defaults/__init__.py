"""The values that Kubernetes fills in where a built-in object leaves them out.

One function a kind, each editing the object it is given; they must not overwrite what is set.
"""
