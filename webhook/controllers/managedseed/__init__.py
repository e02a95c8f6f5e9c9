"""MANAGEDSEEDS: registers Shoots as Seeds.

`seed_manifest` renders the Seed of a template, `gardenlet` the manifests of a gardenlet, with its
`gardenlet_deployment` and `gardenlet_files`, of `shoot_kinds`. `parents` merges in the settings of
its parent, `bootstrap` prepares its access to the garden, and `deployer` applies it. `secrets`
copies credentials; `plan`, `registration` and `deletion` put the steps in order, `status` reports
them, and `mapping` maps changes to ManagedSeeds. Everything here is pure.
"""
