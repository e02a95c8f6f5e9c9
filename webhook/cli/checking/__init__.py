"""Judge manifests as the webhooks would, without a server: reading them, deciding, reporting."""
