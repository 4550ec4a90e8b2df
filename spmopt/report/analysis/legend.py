"""What the columns of an analysis mean, as it stands below its tables."""

from __future__ import annotations

TIME = (
    "type I: matrix products, convolutions, their gradients; type II: all other work. stall: time "
    "beyond the computation; cause: what most of it waits for (stationary: operands that must be "
    "on chip while the step computes; load: bytes for the step, prefetch: for later steps; store: "
    "results; stream in, out: bytes that pass through). active: bandwidth over its peak; utilised: "
    "FLOP over what the engine could do in the time. roofline: compute, if FLOP/B, per byte of "
    "the tensors touched, is above the ridge point, else memory: with all of them in DRAM that "
    "would bind, whatever the schedule keeps."
)
REUSE = (
    "A gap lies between two uses of the same contents. reusable: bytes of gaps; captured: those "
    "kept on chip from use to use. formula: capacity by Tsai (2021), for all gaps and for nine "
    "tenths. exact: the smallest scratchpad that captures all of this scope, alone and with the "
    "shorter ones above it."
)
