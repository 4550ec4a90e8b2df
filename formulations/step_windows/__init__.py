"""A window of steps by CP-SAT: order, mappings, residency by pages, stores, on the replay."""
