"""The command of gradients in tiles."""
