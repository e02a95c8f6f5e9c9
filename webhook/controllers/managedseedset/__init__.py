"""ManagedSeedSets: sets of seeds that scale and roll by themselves.

`observation` gathers what a pass looks at, `revisions` keeps the history of templates, `scaling`
and `rolling` propose writes, `status` tells what is going on, `plan` puts it all together.
Everything here is pure; the runtime carries the plans out.
"""
