"""The exact Pareto front of time and cost over a finite set of machines."""
