"""One trial's work, in this process, in others, or on a cluster."""
