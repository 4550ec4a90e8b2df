"""Schedules executed on real numbers: commands, memories, kernels, comparison."""
