"""One layer as a matrix product in tiles: its gradients, and the orders of their products."""
