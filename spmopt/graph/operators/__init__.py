"""One rule per operator: result shapes, work, and what its gradients read."""
