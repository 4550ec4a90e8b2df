"""What is refused, and what is said of it."""

from __future__ import annotations

import pytest

from spmopt.core.errors import InputError
from spmopt.tiles.layer import Tile
from spmopt.tiles.run import run
from tests.tiles.asked import case


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"cores": 0}, "0 cores; give at least 1"),
        ({"element_bytes": 0}, "elements of 0 bytes; give at least 1"),
        ({"objective": "energy"}, "choose time or traffic"),
        ({"order": "dx-mayor"}, "no order called 'dx-mayor'; did you mean dx-major"),
        ({"order": "best:dx=ikj"}, "no order called 'best'"),
        ({"order": "interleaved:dx"}, "order 'interleaved:dx': 'dx' is not dx=WALK or dw=WALK"),
        ({"order": "interleaved:dx="}, "'dx=' is not dx=WALK or dw=WALK, each once"),
        ({"order": "sequential:dx=iik"}, "loops 'iik' are unknown; use ikj"),
        ({"partition": "m/0"}, "partition: 0 parts; give at least 1"),
        ({"partition": "x/2"}, "write m/2, k/2 or n/2"),
        ({"cores": 2}, "2 cores need a partition; give one, as m/2, or best"),
        ({"replacement": "beladi"}, "did you mean belady"),
        ({"replacement": "lp-bound"}, "gives a bound, no schedule"),
        (
            {"replacement": "joint"},
            "no objective time; use timing async, or another scheduler: "
            "residency:granularity=tensor, residency, fusion, contiguous, or any policy, as belady",
        ),
        ({"replacement": "double-buffer:reuse=some"}, "no choice of reuse"),
    ],
)
def test_refused(changes: dict[str, object], said: str) -> None:
    with pytest.raises(InputError, match=said):
        case(**changes)


def test_a_tile_that_does_not_fit() -> None:
    with pytest.raises(InputError, match=r"layer a: .* give smaller tiles or a larger --spm"):
        run(case(tile=Tile(m=160, k=300, n=90)))
