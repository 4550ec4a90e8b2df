"""Covers of a listing: values of segments, shortest paths over them, bounds over all covers."""
