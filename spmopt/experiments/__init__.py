"""Runs many cases: case -> verified row -> store -> resume, on any executor."""
