"""A suite of two lines, measured by functions instead of processes."""

from __future__ import annotations

from dataclasses import dataclass, field

from spmopt.bench.suite import Case, Column, Figure, Figures, Part, Row, Suite, Target

CASE = Case(network="bert-tiny", spm="1MB", parameters={"batch": 1, "sequence": 8, "layers": 1})


def row(name: str, *targets: Target, labels: tuple[str, ...] = ("",)) -> Row:
    parts = {label: Part(measure=f"measure {name}", options={}) for label in labels}
    return Row(case=CASE, cells=(name, "1MB"), parts=parts, targets=targets)


def suite(*rows: Row) -> Suite:
    return Suite(
        name="small",
        title="small things",
        about="How it is done.",
        heads=("what", "SPM"),
        rows=rows,
        columns=(Column(figure="wall_s", heading="wall s"), Column(figure="gap", heading="gap %")),
    )


SMALL = suite(row("first", Target(figure="wall_s", value=1)), row("second", labels=("a", "b")))


@dataclass
class Measure:
    """Gives 1 s, 2 s, ... ; stops as Ctrl-C does once it was called ``limit`` times."""

    limit: int = 1000
    calls: list[str] = field(default_factory=list)

    def __call__(self, case: Case, part: Part) -> Figures:
        assert case == CASE
        if len(self.calls) == self.limit:
            raise KeyboardInterrupt
        self.calls.append(part.measure)
        figures: dict[str, Figure] = {"wall_s": float(len(self.calls)), "gap": 0.5}
        return figures


def silent(message: str, done: float | None) -> None:
    del message
    assert done is not None
    assert 0 <= done < 1
