"""ScheduledScalings: minimums for a Tortoise while a window is open.

`cron`, `recurrence` and `windows` define when, `floors` how much, and `schedules` both for objects;
`result_cache` keeps results. `raised_values` records what was raised so that it can be restored,
`aftermath` keeps Tortoise from learning from it, `constraints` reports the floors on the Tortoise,
`validation` checks the objects.
"""
