"""From networks to problems: graph, operators, training, lowering."""
