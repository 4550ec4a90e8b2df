"""Pictures, by matplotlib: the only place that imports it."""
