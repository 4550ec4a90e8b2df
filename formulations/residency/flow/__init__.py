"""Traffic with every operand resident: the optimum is a flow of least cost along the steps."""
