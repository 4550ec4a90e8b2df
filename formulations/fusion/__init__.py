"""Fusion plans of a graph.

Values of groups, shortest paths over them, bounds over the fusion space.
"""
