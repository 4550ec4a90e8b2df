"""Hardware search: machines proposed, bounded and solved; the Pareto front of those that stay."""
