"""What a scratchpad of two memories is worth beside those of one memory with the same area."""
