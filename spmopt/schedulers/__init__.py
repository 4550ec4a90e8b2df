"""Schedulers by name, loaded when used."""
