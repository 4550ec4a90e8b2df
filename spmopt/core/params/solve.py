"""Parameters of a search that users can set, from Python or from a TOML file."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from spmopt.core.params.contiguous import ContiguousParams
from spmopt.core.params.fusion import FusionParams
from spmopt.core.params.joint import JointParams
from spmopt.core.params.orders import OrderParams
from spmopt.core.params.placement import PlacementParams
from spmopt.core.params.record import Amount, Count, Params, Share
from spmopt.core.params.residency import ResidencyParams
from spmopt.core.validation import read_toml


@dataclass(frozen=True, kw_only=True)
class SolveParams(Params):
    """Parts of the time limit, sizes at which a search changes, and records of its algorithms.

    In a TOML file each record is a table of its name. No parameter changes which schedules are
    legal, or which bounds hold.

    Attributes
    ----------
    all_policies_operations
        Most operations on which all policies run as starts; above it one attempt of one.
    finish_s
        Seconds of each operation, above that number, kept back to verify and to bound.
    list_fraction
        Part of the time limit for the layer-by-layer schedule from which fusion starts.
    list_gap
        Gap at which that schedule is good enough.
    replay_page_fraction
        Part of the time limit for the page-level start of a scheduler of the replay.
    replay_start_fraction
        Part of the time limit for each other optimizer that it starts from.
    orders_fraction
        Part of the time limit to search orders, on small problems.
    orders_large_fraction
        Part of the time left to search orders, on all others.
    joint_operation_s
        Seconds of the time limit for each operation from which ``joint`` has half of it.
    contiguous
        Plans with contiguous addresses.
    joint
        All decisions together.
    orders
        Orders of operations.
    residency
        Residency in a given order.
    fusion
        Fusion plans, and the bound over them.
    placement
        Addresses of buffers.
    """

    all_policies_operations: Count = 5_000
    finish_s: Amount = 7e-5
    list_fraction: Share = 0.1
    list_gap: Amount = 1e-3
    replay_page_fraction: Share = 0.25
    replay_start_fraction: Share = 0.1
    orders_fraction: Share = 0.25
    orders_large_fraction: Share = 0.8
    joint_operation_s: Amount = 0.1
    contiguous: ContiguousParams = field(default_factory=ContiguousParams)
    joint: JointParams = field(default_factory=JointParams)
    orders: OrderParams = field(default_factory=OrderParams)
    residency: ResidencyParams = field(default_factory=ResidencyParams)
    fusion: FusionParams = field(default_factory=FusionParams)
    placement: PlacementParams = field(default_factory=PlacementParams)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a TOML file with some parameters; the others keep their defaults.

        Raises
        ------
        InputError
            The file cannot be read, or has an unknown name or a value out of range.
        """
        return cls().change(read_toml(Path(path), str(path)), f"{path}: ")

    @classmethod
    def of(cls, given: Self | str | Path | None) -> Self:
        """Return parameters given as such, as a TOML file, or not at all."""
        if isinstance(given, str | Path):
            return cls.load(given)
        return cls() if given is None else given


DEFAULTS = SolveParams()
