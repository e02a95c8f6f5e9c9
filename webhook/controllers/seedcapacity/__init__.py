"""SEEDCAPACITY: writes capacity and allocatable of seeds, and exports them as metrics."""
