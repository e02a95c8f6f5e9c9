"""PLACEMENT: assigns shoots to seeds.

`scheduler` takes shoots from `queue`, `decision` decides without I/O, and `placer` writes: first
the seed's ledger through `ledger_writer`, then the shoot. `ledger_gc` removes ledger entries that
were left behind. `extender_service` and `bridge` serve an unmodified kube-scheduler instead of the
built-in one. The choice of a seed itself is in `webhook.scheduling`.
"""
