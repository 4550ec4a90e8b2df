"""Tileable graphs, their fusion plans by groups in tiles.

And the parts and stripes that tiles have.
"""
