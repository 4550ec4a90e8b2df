"""Schedules in which each stay of a tensor has one range of addresses."""
