"""Parameters of the algorithms, one record each; :class:`SolveParams` has all of them."""

from spmopt.core.params.placement import PlacementParams
from spmopt.core.params.solve import DEFAULTS, SolveParams

__all__ = ["DEFAULTS", "PlacementParams", "SolveParams"]
