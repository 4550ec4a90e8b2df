"""The plain (tensor, step) model: a family of rows for each law of the problem."""
