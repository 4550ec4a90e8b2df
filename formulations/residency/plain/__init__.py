"""The rules as they stand, a variable per tensor and step: a reference for tests and measuring."""
