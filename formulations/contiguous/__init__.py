"""Schedules in which each block of a tensor has one range of addresses."""
