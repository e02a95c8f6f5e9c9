"""`espalier check`: validates manifests offline with the policies of the server.

`command` reads arguments and manifests, `evaluation` applies the policies, `reports` prints
findings.
"""
