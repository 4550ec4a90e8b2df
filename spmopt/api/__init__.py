"""The program from Python: what the commands do, with results that show themselves.

::

    from spmopt import api

    case = api.instance("resnet18", training=True, spm="8MB")
    compared = api.compare(case, ["belady", "page"])
    print(compared)                      # in a notebook just: compared
    compared.best.save_page("page.html")

What the functions return prints as the command line does, and shows itself in notebooks.
"""

from spmopt.api.drawn import Drawn
from spmopt.api.instances import instance
from spmopt.api.scheduled import Compared, compare, solve
from spmopt.api.shown import Shown, show
from spmopt.api.solved import Analysed, Solved, read

__all__ = [
    "Analysed",
    "Compared",
    "Drawn",
    "Shown",
    "Solved",
    "compare",
    "instance",
    "read",
    "show",
    "solve",
]
