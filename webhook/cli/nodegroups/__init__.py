"""NODE GROUPS for people: what there is, live, and how to configure an autoscaler for it.

Everything is read from a cluster through its API and worked out as the server does it.
"""
