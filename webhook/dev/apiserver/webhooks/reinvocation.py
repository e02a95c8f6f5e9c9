"""Reinvocation of mutating webhooks after later webhooks changed the object."""

from webhook.dev.apiserver.webhooks.configurations import Webhook


class MutationRound:
    """A pass over the mutating webhooks: which were called, and which are to be reinvoked."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.index = 0
        self.changed = False
        self.called: set[Webhook] = set()
        self.to_reinvoke: set[Webhook] = set()

    def record(self, webhook: Webhook, changed: bool) -> None:
        """Record a call; after a change, the webhooks called before it are to be reinvoked."""
        if changed:
            self.changed = True
            self.to_reinvoke |= self.called
            self.called = set()
        if webhook.reinvoke:
            self.called.add(webhook)
