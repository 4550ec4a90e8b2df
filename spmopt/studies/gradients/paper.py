"""Figures in the text of Kim et al., MICRO 2023; its figures of networks are in pictures only."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from spmopt.studies.gradient_networks import LARGE, SMALL
from spmopt.studies.words import in_percent, signed

LIMIT = 5.0
"""Points of deviation from which on a figure has to be explained."""
TITLES = {SMALL: "small NPU", LARGE: "large NPU"}
SAVED: Mapping[tuple[str, str], float] = MappingProxyType(
    {
        (SMALL, "interleaving"): 0.8,
        (SMALL, "+rearrangement"): 23.8,
        (SMALL, "+rearrangement, ideal"): 25.1,
        (SMALL, "+partitioning"): 29.3,
        (LARGE, "interleaving"): 7.4,
        (LARGE, "+rearrangement"): 10.9,
        (LARGE, "+rearrangement, ideal"): 12.4,
        (LARGE, "+partitioning"): 14.5,
    }
)
"""Percent of the time of both passes (sections 4.3, 6.2)."""
SPEEDUP = {SMALL: 1.70, LARGE: 1.43}
"""With the second read of dY free (section 3.3)."""
SHARE_OF_TRAFFIC, SHARE_OF_READS, SHARE_OF_READS_DLRM = 39.0, 51.4, 68.3
"""Of dY in the backward pass, percent, large NPU (section 3.2)."""
ACCURACY, IDEAL, PREDICTED = 91.0, 22.4, 21.5
"""Of k-nearest neighbours; what partitions save on two cores (section 5)."""


def points(found: float, paper: float) -> str:
    """A share in percent, bold with its deviation where it is too far from the paper's."""
    text = in_percent(found)
    deviation = 100 * found - paper
    return text if abs(deviation) <= LIMIT else f"**{text}** ({signed(deviation)})"


def bold(also: str = "") -> str:
    """What bold figures are; ``also`` says what else is."""
    return (
        f"Bold: more than {LIMIT:g} points{also} from the paper; [gradient-assumptions.md]"
        "(gradient-assumptions.md) says which assumption brings them nearer."
    )
