"""Parameters of the algorithms, one record each; :class:`SolveParams` has all of them."""

from spmopt.core.params.contiguous import ContiguousParams
from spmopt.core.params.fusion import FusionParams
from spmopt.core.params.joint import JointParams
from spmopt.core.params.orders import OrderParams
from spmopt.core.params.placement import PlacementParams
from spmopt.core.params.residency import ResidencyParams
from spmopt.core.params.solve import DEFAULTS, SolveParams

__all__ = [
    "DEFAULTS",
    "ContiguousParams",
    "FusionParams",
    "JointParams",
    "OrderParams",
    "PlacementParams",
    "ResidencyParams",
    "SolveParams",
]
