"""Which tensors stay: simulations that admit and evict."""
