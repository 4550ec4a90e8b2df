"""A program of the formulations for PuLP: solved by any solver of it, or written to a file."""
