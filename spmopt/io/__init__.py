"""Problems, schedules and results as versioned, lossless JSON files; buffers as CSV.

:func:`spmopt.io.files.schema` makes the JSON Schemas of the formats from the records.
"""
