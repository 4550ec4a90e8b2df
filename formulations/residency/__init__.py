"""Which bytes are on chip when, in a fixed order: bounds and schedules."""
