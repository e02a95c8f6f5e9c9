"""The checks of `espalier doctor`: `machine` and `cluster`."""
