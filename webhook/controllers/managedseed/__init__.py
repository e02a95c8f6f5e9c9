"""ManagedSeeds: Shoots that are registered as Seeds.

`seed` renders the Seed of a template, `gardenlet` the manifests of a gardenlet and `bootstrap` its
first contact with the garden; `secrets` copies credentials; `plan` and `deletion` put the steps in
order, and `status` tells how far they have come. Everything here is pure.
"""
