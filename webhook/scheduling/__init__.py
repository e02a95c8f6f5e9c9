"""PLACEMENT: which seed a shoot gets, and why no other.

One question, `place(shoot, seeds, snapshot)`, answered by the steps of a profile; the wire format
of scheduler extenders, explanations for people, and what a seed's ledger says. Pure: no I/O, no
clock; writing a placement down is the business of `controllers`.
"""
