"""Measurements, as ratios within one run: medians over interleaved rounds, kept in `results/`.

Each module has a `NAME` and a `run(rounds)` that returns what was measured; `python -m benchmarks`
runs all of them, or those that are named.
"""
