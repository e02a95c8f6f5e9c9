"""Policies: each module holds one concern and imports no other; `rules` holds what two share."""
