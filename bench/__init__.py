"""Benchmarks against the peers, side by side in one run: `python -m bench`, `python -m bench.<subject>`."""
