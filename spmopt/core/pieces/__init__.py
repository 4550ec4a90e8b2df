"""Listings, their covers by segments in pieces, and the parts and bands that pieces have."""
