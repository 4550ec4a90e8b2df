"""A window of steps by CP-SAT: order, modes, residency by pages, stores, on the replay."""
