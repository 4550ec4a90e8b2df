"""Studies of the orders of gradients: Kim et al., MICRO 2023, and what it leaves open."""
