"""What is searched: axes, machines proposed, constraints and figures."""
