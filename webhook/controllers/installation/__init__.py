"""INSTALLATION: keeps Espalier's own objects in the cluster.

`certificates` renews the serving certificate, `webhook_configurations` writes the configurations,
and `uninstall_marker` stops both while Espalier is being uninstalled.
"""
