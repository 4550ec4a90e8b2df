"""How commands talk: tables, progress, quiet, interrupts."""
