"""The order of the tile products of a layer that moves least, for small grids of tiles."""

from formulations.orders.products import require_small
from formulations.orders.search import BestOrder, optimal_order

__all__ = ["BestOrder", "optimal_order", "require_small"]
