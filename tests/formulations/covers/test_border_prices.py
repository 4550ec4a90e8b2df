"""Bounds over all covers at prices of what is carried across borders."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from formulations.covers.listed import Listed
from spmopt.core.errors import InputError
from spmopt.core.instance import Tensor
from spmopt.core.objective import objective_named
from spmopt.core.operation import Mode, Operand
from spmopt.core.pieces.certificate import CoverCertificate, Row
from spmopt.core.pieces.listing import Listing
from spmopt.core.pieces.segments import Cover, ListedOperation, PieceModes, Segment
from spmopt.core.table import Ints
from spmopt.verifier.border_credit import BorderCredit
from spmopt.verifier.carried import READ
from spmopt.verifier.cover_bound import CoverPath, cover_bound
from tests.formulations.covers.random_listing import covers, random_listing
from tests.formulations.covers.test_carried import BITS, Prices, priced
from tests.formulations.covers.test_segments import OBJECTIVES, relaxed, segments
from tests.thorough import some

STYLES = ((-0.5, 2.0), (0.0, 1.0), (0.8, 1.0), (0.0, 0.3))
"""Of prices, in those of moving a byte."""

Known = dict[Cover, float]


def certificates(
    listed: Listing, seed: int, *, segments_too: bool
) -> Iterator[tuple[CoverCertificate, Known]]:
    """Yield certificates at random prices, and what covers cost."""
    random = np.random.default_rng(seed)
    objective = objective_named(OBJECTIVES[seed % 3], listed.machine)
    figures = Listed(listed, objective)
    values = {cover: relaxed(listed, cover, objective) for cover in covers(listed)}
    known = {cover: value[1] for cover, value in values.items() if value is not None}
    byte = figures.dearest_row * listed.machine.clock_hz * 2**BITS
    for style, (low, high) in enumerate(STYLES if known else ()):
        carried: Prices = {
            (border, group): (
                round(byte * random.uniform(low, high)),
                round(byte * random.uniform(low, high)) if group >= 0 else 0,
            )
            for border, crossed in enumerate(figures.crossing)
            for group in crossed
        }
        fine, prices = bool(random.random() < 0.5), dict[Segment, dict[Row, int]]()
        taken = segments(listed) if carried and segments_too and style % 2 else []
        for segment in taken:
            value, rows = priced(figures, segment, carried, fine=fine)
            if np.isfinite(value):
                prices[segment] = rows
        yield (
            CoverCertificate(
                family=figures.family,
                objective=objective,
                bits=BITS,
                prices={},
                carried=carried,
                agreed=prices,
                fine=fine,
            ),
            known,
        )


def totals_of(
    listed: Listing, certificate: CoverCertificate, chosen: Sequence[Cover]
) -> list[float]:
    """Return what the segments of covers cost at least by a certificate, in all."""
    path = CoverPath(listed, certificate)
    tables = path.tables()
    totals = [
        sum(int(tables[path.pieces.index(each.count)][each.end, each.begin]) for each in cover)
        for cover in chosen
    ]
    return [float(Fraction(total) / Fraction(2) ** path.bits) for total in totals]


def above(seeds: Sequence[int], *, segments_too: bool = True) -> tuple[int, int, int]:
    """Return how many sums over covers there are, how many tell something, and those too high."""
    found, near, wrong = 0, 0, 0
    for seed in seeds:
        listed = random_listing(seed, most=3)
        for certificate, known in certificates(listed, seed, segments_too=segments_too):
            least = float(CoverPath(listed, certificate).value())
            proved = float(cover_bound(listed, certificate))
            totals = totals_of(listed, certificate, list(known))
            for bound, value in zip(totals, known.values(), strict=True):
                assert least <= bound + 1e-9 * abs(bound) + 1e-12
                found += 1
                near += bound > 0.5 * value
                wrong += max(bound, proved) > value * (1 + 1e-6) + 1e-12
    return found, near, wrong


def test_no_cover_costs_less_than_the_bound_at_any_prices() -> None:
    """Time, traffic and energy, on one channel and on two."""
    seeds = some(range(600, 620))
    found, near, wrong = above(seeds)
    assert not wrong
    assert found > 20 * len(seeds)
    assert near > 5 * len(seeds)


@pytest.mark.parametrize("fault", ["unpaid", "one full end"])
def test_faults_of_what_segments_may_earn_are_noticed(
    fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    least = BorderCredit.least

    def unpaid(self: BorderCredit, into: int, out: int) -> Ints:
        return np.maximum(least(self, into, out), 0)

    def one_full_end(self: BorderCredit, into: int, out: int) -> Ints:
        found: Ints = least(self, into, out)
        return np.maximum(found, -self._full()[0][:, None])

    monkeypatch.setattr(BorderCredit, "least", unpaid if fault == "unpaid" else one_full_end)
    assert above(range(600, 615), segments_too=False)[2] > 0


def test_a_weight_that_is_used_again_is_loaded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """At its full price at each border; and the fault of counting each use shows."""
    operations = []
    for at in range(3):
        operation = ListedOperation(
            name=f"o{at}", reads=(0,), writes=(), cut=frozenset(), sums=frozenset()
        )
        mode = Mode(compute_cycles=0, operands=(Operand(),), macs=1)
        operation.modes[1] = PieceModes(mode, mode)
        operations.append(operation)
    listed = replace(
        random_listing(600),
        tensors=(Tensor(name="w", size_bytes=4, in_dram=True, keep=False),),
        operations=tuple(operations),
    )
    objective = objective_named("traffic", listed.machine)
    whole = tuple(Segment(begin=at, end=at + 1, pieces=1) for at in range(3))
    certificate = CoverCertificate(
        family=Listed(listed, objective).family,
        objective=objective,
        bits=20,
        prices={},
        carried={(border, READ): (2**20, 0) for border in (1, 2)},
    )
    assert relaxed(listed, whole, objective) == pytest.approx((4.0, 4.0))
    assert totals_of(listed, certificate, [whole]) == [4.0]
    needed = BorderCredit._needed

    def once(self: BorderCredit, total: Ints, accesses: Any, number: int, *others: Any) -> None:
        if not any(reads for _, reads, _ in accesses[:number]):
            needed(self, total, accesses, number, *others)

    monkeypatch.setattr(BorderCredit, "_needed", once)
    assert totals_of(listed, certificate, [whole]) > [4.0]


@pytest.mark.parametrize("fine", [False, True])
def test_what_is_found_newer_and_whole_to_each_piece_may_be_carried_on_so(*, fine: bool) -> None:
    """One operation writes ``w``, which stays; two pieces of the next read it, and the last does.

    Whatever a byte is worth that is newer, none is stored: 4 bytes of ``x`` come, and that is all.
    """
    operations = [
        ListedOperation(name="write", reads=(), writes=(1,)),
        ListedOperation(name="both", reads=(0, 1), writes=(), cut=frozenset({0})),
        ListedOperation(name="read", reads=(1,), writes=()),
    ]
    for operation in operations:
        streamed = (Operand(),) * len(operation.uses(0))
        mode = Mode(compute_cycles=0, operands=streamed)
        operation.modes.update(
            {k: PieceModes(mode, mode) for k in (1, 2)[: 1 + bool(operation.cut)]}
        )
    # Whole it does not fit.
    whole = replace(mode, operands=(Operand(),) * 2, scratch_bytes=100)
    operations[1].modes[1] = PieceModes(whole, whole)
    listed = replace(
        random_listing(600),
        tensors=(
            Tensor(name="x", size_bytes=4, in_dram=True, keep=False),
            Tensor(name="w", size_bytes=4, in_dram=False, keep=False),
        ),
        operations=tuple(operations),
        batch=2,
    )
    objective = objective_named("traffic", listed.machine)
    figures = Listed(listed, objective)
    carried = {(1, 1): (0, 2**BITS), (1, READ): (2**BITS, 0), (2, 1): (0, 0)}
    cover = tuple(Segment(begin=at, end=at + 1, pieces=1 + at % 2) for at in range(3))
    agreed = {each: priced(figures, each, carried, fine=fine)[1] for each in cover}
    certificate = CoverCertificate(
        family=figures.family,
        objective=objective,
        bits=BITS,
        prices={},
        carried=carried,
        agreed=agreed,
        fine=fine,
    )
    value = relaxed(listed, cover, objective)
    assert value == pytest.approx((4.0, 4.0))
    assert totals_of(listed, certificate, [cover]) == pytest.approx([4.0])
    assert cover_bound(listed, certificate) <= 4


def example() -> tuple[Listing, CoverCertificate]:
    """Return a listing, and a certificate of it with prices of borders and of rows."""
    for seed in range(600, 700):
        listed = random_listing(seed, most=3)
        for certificate, _ in certificates(listed, seed, segments_too=True):
            if certificate.agreed and any(group >= 0 for _, group in certificate.carried):
                return listed, certificate
    raise AssertionError("no listing has borders")


def test_tampered_prices_are_refused_or_prove_less() -> None:
    listed, certificate = example()
    bound, byte = cover_bound(listed, certificate), 2**BITS
    border, group = next(iter(certificate.carried))
    for wrong, word in (
        ({(0, group): (1, 1)}, "border 0 has no price"),
        ({(len(listed.operations), group): (1, 1)}, "has no price"),
        ({(border, -2): (1, 1)}, "has no price"),
        ({(border, group): (10**6 * byte, 0)}, "too high a price"),
    ):
        with pytest.raises(InputError, match=word):
            cover_bound(listed, replace(certificate, carried={**certificate.carried, **wrong}))
    # Rows at other prices of borders are no proof of what they were at these.
    zero = dict.fromkeys(certificate.carried, (0, 0))
    assert cover_bound(listed, replace(certificate, carried=zero)) != bound
    assert cover_bound(listed, certificate) == bound
