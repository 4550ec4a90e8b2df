"""Sweeps: machines and batches in ranges, many schedulers, one row each."""
