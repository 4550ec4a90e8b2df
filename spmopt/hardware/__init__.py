"""Machines, and the memory technologies that their scratchpads are made of.

Both go by name (TOML presets, or names of packages) or are read from a user's TOML file, and
single settings of a machine can be replaced. Every technology has one source of figures, and says
which. Those of DeepNVM++ (table II, 16 nm) are known at the published capacities only; those of
NVSim (22 nm) are fitted between and beyond the capacities that were run. The two are never mixed.

:mod:`~spmopt.hardware.scratchpad` puts a technology into a machine,
:mod:`~spmopt.hardware.energy` computes the energy and time of a schedule there.
"""
