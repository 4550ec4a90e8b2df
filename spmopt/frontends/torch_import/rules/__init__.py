"""A rule for each operator of torch that programs are taken apart to."""

from __future__ import annotations

from spmopt.frontends.torch_import.emit import Rules
from spmopt.frontends.torch_import.rules import (
    movement,
    normalizations,
    pointwise,
    products,
    windows,
)

RULES: Rules = {
    **pointwise.RULES,
    **products.RULES,
    **windows.RULES,
    **normalizations.RULES,
    **movement.RULES,
}
"""All of them."""
