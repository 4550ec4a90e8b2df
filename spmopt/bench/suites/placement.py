"""The suite of placements of buffers with known lifetimes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from spmopt.bench.lines import summed
from spmopt.bench.placement import FILE, RANDOM, peer_words
from spmopt.bench.suite import Case, Column, Figure, Figures, Options, Part, Row, Suite, Target

CAPACITY = 1048576
INSTANCES = "ABCDEFGHIJK"
SEEDS = (1, 2, 3, 4, 5)
_HEIGHTS = {"C": 1039360, "D": 1032192, "J": 1033216}  # to reach; of all others the capacity
_LIMIT_S = 300.0
_PEER = "peer"
_MOST, _MOST_OF_ONE = 0.25, 1.5  # of the peer's CPU seconds
_PUBLISHED, _COPIES = "place", "place, mirrored and shuffled"
_OWN = "seed "
_GRAPHS = (
    ("transformer", {"layers": 7}, "1,025 buffers", 0.5),
    ("bert-large", {"layers": 17}, "1,032 buffers", 0.5),
    ("transformer", {"layers": 35}, "5,057 buffers", 10.0),
    ("gnmt", {"steps": 12}, "5,309 buffers", 10.0),
)
_METHODS = (
    "`by` names what placed the buffers. `search`: from the bottom up, each buffer as low as those "
    "below allow; `CP-SAT`: the solver; `dive`: short searches in orders shaken a little; `best "
    "fit`, `first fit`: one buffer after another, into the tightest or the lowest hole. Several "
    "stand where parts that no time ties together were placed differently. The order in which "
    "buffers are tried is a word, of which the first letter counts most: `T` the fullest time "
    "that a buffer lives at, `A` its area (bytes x time), `W` its duration, `Z` its bytes, the "
    "largest first; `L` the latest begin first, `E` the earliest."
)
_SOLVED = Target(figure="solved", value=1, at_least=True)


def place() -> Suite:
    """Published instances, their copies, least heights, training graphs, random lifetimes."""
    return Suite(
        name="place",
        title="placement of buffers with known lifetimes",
        about="`place`: CPU seconds to a placement of the published instances in "
        f"{CAPACITY} bytes, from buffers in memory, with those of the process of CP-SAT and of "
        "loading it; copies run backwards in time, in another order of the file: seconds are sums "
        "over five. `minimize`: the least height within the limit and the proved bound (`gap`). "
        "Training graphs: what a step makes, live from first write to last use, as wide as it "
        "is; random: see `spmopt/bench/placement.py`. Every placement is checked, pair by pair. "
        "The peer is the program given by `--peer`, on the same computer in the same run; its "
        f"CPU seconds are those of its process.\n\n{_METHODS}",
        heads=("what", "of"),
        rows=(*_placed(), *_least(), *_graphs(), *_random()),
        columns=(
            Column(figure="buffers", heading="buffers", form="n"),
            Column(figure="cpu_s", heading="CPU s"),
            Column(figure="wall_s", heading="wall s"),
            Column(figure="solved", heading="solved", form="yes"),
            Column(figure="peer.cpu_s", heading="peer CPU s"),
            Column(figure="ratio", heading="ratio", form="s"),
            Column(figure="height_bytes", heading="height", form="n"),
            Column(figure="bound_bytes", heading="bound", form="n"),
            Column(figure="gap", heading="gap %", form="%"),
            Column(figure="method", heading="by"),
        ),
        derive=_derive,
    )


def with_peer(suite: Suite, command: str) -> Suite:
    """The same, with the CPU seconds of another program beside ours, and targets for the ratio."""
    peer_words(command)
    return replace(suite, rows=tuple(_beside(row, command) for row in suite.rows))


def _beside(row: Row, command: str) -> Row:
    if row.cells[0] not in (_PUBLISHED, _COPIES):
        return row
    parts = dict(row.parts)
    for label, part in row.parts.items():
        options: Options = {**part.options, "command": command}
        beside = f"{_PEER} {label}".strip()
        parts[beside] = Part(measure="peer", options=options)
    most = Target(figure="ratio", value=_MOST if row.sums else _MOST_OF_ONE)
    return replace(row, parts=parts, targets=(*row.targets, most))


def _placed() -> Iterator[Row]:
    for what, seeds in ((_PUBLISHED, (0,)), (_COPIES, SEEDS)):
        rows = [
            Row(
                case=_file(name),
                cells=(what, name),
                parts={f"{_OWN}{seed}" if seed else "": _under_capacity(seed) for seed in seeds},
                targets=(_SOLVED,),
            )
            for name in INSTANCES
        ]
        yield from rows
        yield Row(
            case=_file("A"),
            cells=(what, "all"),
            parts={},
            sums=tuple(row.name for row in rows),
            targets=(_SOLVED,),
        )


def _least() -> Iterator[Row]:
    for name in INSTANCES:
        most = _HEIGHTS.get(name, CAPACITY)
        targets = [Target(figure="height_bytes", value=most)]
        if name not in "DJ":
            targets.append(Target(figure="gap", value=0))
        yield Row(
            case=_file(name),
            cells=("minimize, 60 s", name),
            parts={"": _minimize(60.0)},
            targets=tuple(targets),
        )
    for name in "DJ":
        yield Row(case=_file(name), cells=("minimize, 5 s", name), parts={"": _minimize(5.0)})


def _graphs() -> Iterator[Row]:
    for network, parameters, buffers, limit_s in _GRAPHS:
        case = Case(network=network, spm="24MB", parameters=parameters)
        yield Row(
            case=case,
            cells=("minimize, training graph", f"{case.title}: {buffers}"),
            parts={"": _minimize(0.9 * limit_s)},
            targets=(Target(figure="wall_s", value=limit_s), Target(figure="gap", value=0)),
        )


def _random() -> Iterator[Row]:
    for way in ("uniform", "exponential"):
        for seed in (0, 1, 2):
            parameters = {"buffers": 1000, "seed": seed}
            yield Row(
                case=Case(network=way, spm="0", machine=RANDOM, parameters=parameters),
                cells=("minimize, random", f"{way}, seed {seed}"),
                parts={"": _minimize(0.95)},
                targets=(Target(figure="wall_s", value=1), Target(figure="gap", value=0.01)),
            )


def _file(name: str) -> Case:
    return Case(network=name, spm=str(CAPACITY), machine=FILE)


def _under_capacity(seed: int) -> Part:
    options: Options = {"capacity": CAPACITY, "limit_s": _LIMIT_S, "seed": seed}
    return Part(measure="place", options=options)


def _minimize(limit_s: float) -> Part:
    return Part(measure="minimize", options={"limit_s": limit_s})


def _derive(figures: Figures) -> Figures:
    """Sums over copies, and the ratio of CPU seconds to the peer's."""
    found = _summed(figures, _OWN)
    found |= {f"{_PEER}.{k}": v for k, v in _summed(figures, f"{_PEER} {_OWN}").items()}
    own, others = (found.get(name, figures.get(name)) for name in ("cpu_s", f"{_PEER}.cpu_s"))
    if isinstance(own, float) and isinstance(others, float) and others:
        found["ratio"] = own / others
    return found


def _summed(figures: Figures, label: str) -> dict[str, Figure]:
    """Sums over parts whose labels begin with ``label``; of yes and no, the worst."""
    found: dict[str, Figure] = {}
    for name in ("cpu_s", "wall_s", "solved"):
        values = [v for k, v in figures.items() if k.startswith(label) and k.endswith(f".{name}")]
        if values:
            found[name] = summed(values)
    return found
