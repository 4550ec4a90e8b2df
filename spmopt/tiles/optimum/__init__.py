"""How far an order of tile products is from the best possible: bounds and better orders."""
