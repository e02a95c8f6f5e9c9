"""A stranger: a small Kubernetes API server for laptops and hermetic tests.

It imports `webhook.api` only; the rest of the program meets it over HTTPS. Whatever kubectl and
clients can see behaves as Kubernetes v1.36 does; where the two differ, this one is wrong.
"""
