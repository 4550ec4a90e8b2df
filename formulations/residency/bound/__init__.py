"""The Lagrangian dual: prices, the cheapest path of every byte, and a certificate of them."""
