"""Studies: one command from a question to a table, a picture and sentences."""
