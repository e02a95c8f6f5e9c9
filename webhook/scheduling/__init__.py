"""Placement: which seed a shoot gets, and why every other seed is rejected.

`pipeline` holds `place(shoot, seeds, snapshot)`, which runs the filters and scorers of a profile.
`framework` defines filters, scorers and profiles, and `profiles` lists them. `shoot_info` and
`candidates` hold the parsed shoot and seeds, `seed_table` all seeds with cached results in
`columns`. `region_strategy` orders seeds by distance, `result` is the answer and `explain` its
text. `ledger` and `reservations` count shoots that are not bound yet. `extender` is the wire format
of kube-scheduler's extenders. Everything here is pure: no I/O and no clock. `webhook.placement`
writes the chosen seed into the shoot.
"""
