"""The program from Python: what the commands do, with results that show themselves.

::

    from spmopt import api

    case = api.instance("resnet18", training=True, spm="8MB")
    compared = api.compare(case, ["belady", "page"])
    print(compared)                      # in a notebook just: compared
    compared.best.save_page("page.html")

What the functions return prints as the command line does, and shows itself in notebooks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from spmopt.api.drawn import Drawn
from spmopt.api.instances import instance
from spmopt.api.scheduled import Compared, compare, solve
from spmopt.api.shown import Shown, show
from spmopt.api.solved import Analysed, Solved, read
from spmopt.api.swept import Swept, sweep

if TYPE_CHECKING:
    from spmopt.api.searched import Searched, tune

__all__ = [
    "Analysed",
    "Compared",
    "Drawn",
    "Searched",
    "Shown",
    "Solved",
    "Swept",
    "compare",
    "instance",
    "read",
    "show",
    "solve",
    "sweep",
    "tune",
]


def __getattr__(name: str) -> Any:
    """What loads Optuna waits until it is asked for."""
    if name not in ("Searched", "tune"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from spmopt.api import searched

    return getattr(searched, name)
