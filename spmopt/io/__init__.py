"""Problems, schedules and results as versioned, lossless JSON files; buffers as CSV."""
