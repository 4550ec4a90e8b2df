"""Traffic with every operand stationary: the optimum is a flow of least cost along the steps."""
