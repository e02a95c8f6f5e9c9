"""Uninstallation: `uninstaller` removes Espalier from a cluster step by step.

`removal` deletes the objects of the installation, `cleanup` removes from other objects what
Espalier wrote (`marks`) and restores values that it raised (`restoration`). `leases` waits for
the leader to stop; `retries` repeats failed requests.
"""
