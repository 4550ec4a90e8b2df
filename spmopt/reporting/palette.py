"""Colors that color-blind readers tell apart, for pictures and pages alike."""

from __future__ import annotations

from spmopt.analysis import Cause
from spmopt.reporting.occupancy import KINDS, SCRATCH

COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Okabe and Ito, Color Universal Design, 2008; but for yellow, which is pale on white."""
BOUND = "#999999"
"""Color of bounds: no schedule's."""
_, _RED, _GREEN, _PINK, _ORANGE, _SKY, _ = COLORS
_OF_KIND = {
    "input": _SKY,
    "weight": _ORANGE,
    "activation": "#332288",  # Tol's indigo: bytes that stream in are blue
    "gradient": _RED,
    "weight gradient": _PINK,
    "state": _GREEN,
    SCRATCH: "#b5b5b5",
}
KIND_COLORS = tuple(_OF_KIND[kind] for kind in KINDS)
"""By the number of a kind of tensors."""
_OF_CAUSE = {
    Cause.NONE: "#cccccc",
    Cause.REQUIRED_RESIDENT: "#807dba",
    Cause.PREFETCH: "#c6dbef",
    Cause.LOAD: "#6baed6",
    Cause.STREAM_IN: "#2171b5",
    Cause.STORE: "#fdae6b",
    Cause.STREAM_OUT: "#d94801",
    Cause.PORT: "#31a354",
}
CAUSE_COLORS = tuple(_OF_CAUSE[cause] for cause in Cause)
"""By the number of a cause: inward blue, outward orange, darker where nothing is kept; ports green.

From Brewer's sequential schemes, which color-blind readers tell apart.
"""
