"""Instances, schedules and results as versioned, lossless JSON files.

The formats are described by JSON Schemas in ``spmopt/io/schemas``; see :func:`schema`.
"""
