"""One reason to prefer a seed a module; no module knows another.

A scorer rates seeds from 0 to MAX_SCORE; how much its rating counts is the profile's business.
"""
