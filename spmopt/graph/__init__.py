"""From networks to instances: graph, operators, training, lowering."""
