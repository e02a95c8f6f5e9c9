"""Certificates: make them, keep them as files, renew them in time.

Bytes and files only: no room above this one is known here, and no rule about seeds or shoots.
"""
