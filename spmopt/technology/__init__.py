"""Memory technologies: what a scratchpad of each takes in time, energy, leakage and area.

Every technology has one source of figures, and says which. Those of DeepNVM++ (table II, 16 nm)
are known at the published capacities only; those of NVSim (22 nm) are fitted between and beyond
the capacities that were run. The two are never mixed.

:mod:`~spmopt.technology.machine` puts one into a machine, :mod:`~spmopt.technology.energy` says
what a schedule takes there.
"""
