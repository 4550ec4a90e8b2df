"""The schedulers by name, loaded when used."""
