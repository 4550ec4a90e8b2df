"""Measurements: suites of cases as data, each measurement in a process of its own."""
