"""One layer's backward pass from end to end: tile, order, replacement, verified figures."""
