"""The commands that draw: pages, pictures, traces."""
