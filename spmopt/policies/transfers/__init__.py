"""When the bytes of a residency plan move: transfers spread over steps."""
