"""The controller runtime: what every controller needs, independent of kinds.

`controller` describes a controller, `runner` and `workqueue` run it, `reconciler` carries out its
plan of `actions` through `writer` and `event_recorder`. `leader_election` elects the replica that
writes. `metrics`, `logs`, `health` and `tasks` serve the whole program. The controllers themselves
are in `webhook.controllers`.
"""
