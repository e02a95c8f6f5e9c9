"""Rules that admission, scheduling and controllers share, by subject.

`shoots` and `seeds` hold what follows from one such object, `placement` what decides which seeds
fit a shoot, `sets` the rules of ManagedSeedSets, `pools` those of worker pools and `scaling` those
of ScheduledScalings. `options` are the operator's settings that rules read, `features` the parts of
the program that can be run by themselves; `derived` caches what is computed from an object. Pure:
Structs and plain values in, values out; no I/O, no clock.
"""
