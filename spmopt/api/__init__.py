"""The functions of the program; all of them stand in :mod:`spmopt` itself.

Names of the time when they stood here work for one version.
"""

from __future__ import annotations

from typing import Any
from warnings import warn

from spmopt.api.inputs import load, machine
from spmopt.api.lowering import lower

_RENAMED = {
    "Analysed": "Breakdowns",
    "Compared": "ComparisonTable",
    "Drawn": "Drawing",
    "Searched": "HardwareSearch",
    "Solved": "Solution",
    "Swept": "SweepTable",
    "instance": "lower",
}
_KEPT = ("compare", "read", "show", "solve", "sweep", "tune")


def __getattr__(name: str) -> Any:
    """Return what has another name or home now."""
    if name not in (*_KEPT, *_RENAMED):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    now = _RENAMED.get(name, name)
    warn(f"spmopt.api.{name}: use spmopt.{now}", DeprecationWarning, stacklevel=2)
    if name == "instance":
        return _instance
    import spmopt

    return getattr(spmopt, now)


def _instance(network: Any, **options: Any) -> Any:
    """Load, build and lower, as ``api.instance`` did."""
    loaded = (
        "training",
        "batch",
        "optimizer",
        "dtype",
        "parameters",
        "assume_pointwise",
        "operators",
    )
    own = {name: options.pop(name) for name in loaded if name in options}
    chosen = {name: options.pop(name) for name in ("lowering", "fold") if name in options}
    base = options.pop("machine", None)
    workload = load(network, **own)
    if workload.instance is not None and base is None:
        base = workload.instance.machine
    on = machine(**options) if base is None else machine(base, **options)
    return lower(workload, on, **chosen)
