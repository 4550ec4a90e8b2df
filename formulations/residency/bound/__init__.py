"""The Lagrangian dual: dual values, the cheapest path of every byte, and a certificate of them."""
