"""MACHINERY. Queues, workers, leadership, events, metrics, logs, health.

Knows keys and plans; knows no kind by name and no rule about any of them.
What is specific to a kind is a table row that `controllers` hands in.
"""
