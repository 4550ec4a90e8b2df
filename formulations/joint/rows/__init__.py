"""The constraints of the joint model, a family a function."""
