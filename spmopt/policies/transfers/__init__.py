"""When the bytes of a plan move: transfers spread over steps."""
