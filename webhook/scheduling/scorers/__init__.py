"""Scorers: each module holds one reason to prefer a seed and imports no other scorer.

A scorer gives each seed a score from 0 to MAX_SCORE; the profile sets its weight.
"""
