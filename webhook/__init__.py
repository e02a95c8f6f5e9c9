"""Espalier: admission, scheduling and automation for Gardener-style landscapes."""

__version__ = "0.1.0"
