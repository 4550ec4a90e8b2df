"""Machines by name (TOML presets) or from a user's TOML file, with fields overridden."""
