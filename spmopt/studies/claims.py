"""The figures of Tsai's thesis, chapter 5, beside the same policy here and beside the optimum."""

from __future__ import annotations

from dataclasses import replace

from spmopt.studies import shares
from spmopt.studies.claim import CLAIMS, LIMIT, Claim
from spmopt.studies.paper import FAST, MB, RATE, SMALL, TITLES, case
from spmopt.studies.readings import ALL, PLAIN, Reading
from spmopt.studies.rows import Rows
from spmopt.studies.study import Figures, Findings, Part, Sentences, Sheet, Study
from spmopt.studies.words import listing
from spmopt.sweep.cases import Case
from spmopt.sweep.work import Search

_SIZES = tuple(size * MB for size in (24, 128, 296, 442, 500))
_ENDS = (24 * MB, 500 * MB)
_LISTED = "tsai:order=listed"
_BRIEF = Search(time_limit_s=1.0)
_PATIENT = Search(time_limit_s=150.0, tolerance=5e-3)
_ELSEWHERE = (
    ("616 to 1555 GB/s: lines converge with capacity, except MobileNetV2", "speedup"),
    ("batch: ResNet-50, Transformer flat; MobileNetV2 prefers small; GNMT, see there", "batch"),
)


def parts() -> tuple[Part, ...]:
    """Time and traffic by capacity, more throughput, and all under the assumptions."""

    def some(
        sizes: tuple[int, ...], throughput: int, networks: tuple[str, ...], reading: Reading = PLAIN
    ) -> tuple[Case, ...]:
        plain = (case(name, sizes, throughput=throughput) for name in networks)
        return tuple(reading.of(each) for each in plain)

    both, traffic = ("tsai", "fluid"), Search(objective="traffic")
    least, gnmt, everything = _SIZES[:1], ("gnmt",), (*SMALL, "gnmt")
    return (
        Part(name="time", cases=some(_SIZES, RATE, SMALL), schedulers=both),
        Part(
            name="traffic", cases=some(_SIZES, RATE, SMALL), schedulers=("fluid",), search=traffic
        ),
        Part(name="faster", cases=some(least, FAST, SMALL), schedulers=both),
        Part(
            name="assumed",
            cases=some(_SIZES, RATE, everything, ALL),
            schedulers=("tsai", _LISTED),
            search=_BRIEF,
        ),
        Part(
            name="assumed-faster",
            cases=some(least, FAST, everything, ALL),
            schedulers=("tsai", _LISTED),
            search=_BRIEF,
        ),
        Part(
            name="traffic-gnmt",
            cases=some(_ENDS, RATE, gnmt),
            schedulers=("fluid",),
            search=replace(_PATIENT, objective="traffic"),
        ),
        Part(
            name="time-gnmt",
            cases=some(_ENDS, RATE, gnmt),
            schedulers=(*both, _LISTED),
            search=_PATIENT,
        ),
        Part(
            name="faster-gnmt",
            cases=some(least, FAST, gnmt),
            schedulers=(*both, _LISTED),
            search=_PATIENT,
        ),
    )


def value(claim: Claim, setting: str, rows: Rows, figures: Figures) -> float | None:
    """What was found, in percent.

    ``setting`` is tsai, listed, assumed, assumed listed or optimum.
    """
    name, suffix = claim.network, "-gnmt" if claim.network == "gnmt" else ""
    if claim.is_share:
        return figures.get(f"{claim.kind} {name} {setting}")
    scheduler = "fluid" if setting == "optimum" else _LISTED if "listed" in setting else "tsai"
    bound = setting == "optimum"
    column = "traffic_bytes" if claim.kind == "traffic" else "time_s"
    column = "bound" if bound else column
    part = f"traffic{suffix}" if bound and claim.kind == "traffic" else f"time{suffix}"
    fast = f"faster{suffix}"
    if "assumed" in setting:
        part, fast = "assumed", "assumed-faster"

    def at(part: str, size_mb: int) -> float:
        size = size_mb * MB
        return rows.number(column, part=part, network=name, spm_bytes=size, scheduler=scheduler)

    if claim.kind == "faster":
        return 100 * (at(part, 24) / at(fast, 24) - 1)
    return 100 * (at(part, claim.at_mb) / at(part, 24) - 1)


def find(rows: Rows, figures: Figures) -> Findings:
    """One line for each claim."""
    lines = [_line(claim, rows, figures) for claim in CLAIMS]
    lines += [[text, "", "", "", "", "", f"[{name}]({name}.md)"] for text, name in _ELSEWHERE]
    heads = ("claim", "paper", "tsai", "deviation", "optimum", "assumed", "its deviation")
    titles = tuple(f"{head}, %" if head in heads[1:3] else head for head in heads)
    return Findings(
        sheets=(Sheet(heads=titles, rows=lines),),
        sentences=_sentences(rows, figures),
        notes=(
            "What each assumption brings by itself: [assumptions.md](assumptions.md).",
            *_orders(rows, figures),
            "Bounds in the rows under assumptions were cut short after a second, and are not used.",
        ),
    )


def _orders(rows: Rows, figures: Figures) -> tuple[str, ...]:
    """What the order does where the policy misses GNMT's figures."""
    told = []
    for claim in CLAIMS:
        if claim.network == "gnmt" and claim.kind in ("time", "traffic"):
            found = {
                name: value(claim, name, rows, figures) or 0.0
                for name in ("tsai", "listed", "assumed", "assumed listed")
            }
            if claim.is_missed_by(found["tsai"]):
                told.append(_order(claim, found))
    return tuple(told)


def _order(claim: Claim, found: dict[str, float]) -> str:
    nearer = abs(claim.deviation(found["tsai"])) - abs(claim.deviation(found["listed"]))
    under = (
        f"under the assumptions {found['assumed listed']:.1f} % instead of {found['assumed']:.1f} %"
    )
    text = (
        f"**{claim.text}**: in the order listed instead of depth first, tsai has "
        f"{found['listed']:.1f} % instead of {found['tsai']:.1f} %, {abs(nearer):.1f} points "
        f"{'nearer to' if nearer > 0 else 'further from'} the thesis; {under}."
    )
    if claim.is_missed_by(found["assumed"]) and claim.is_missed_by(found["assumed listed"]):
        text += " What else the thesis has otherwise is not known here."
    return text


def _line(claim: Claim, rows: Rows, figures: Figures) -> list[str]:
    cells = [claim.text, claim.told]
    for setting in ("tsai", "optimum", "assumed"):
        found = value(claim, setting, rows, figures)
        cells.append("-" if found is None else f"{found:{claim.sign}.1f}")
        if setting != "optimum":
            text = "-" if found is None else f"{claim.deviation(found):+.1f}"
            bold = found is not None and claim.is_missed_by(found)
            cells.append(f"**{text}**" if bold else text)
    return cells


def _off(setting: str, rows: Rows, figures: Figures) -> list[Claim]:
    """Claims that are missed."""
    found = [(claim, value(claim, setting, rows, figures)) for claim in CLAIMS]
    return [claim for claim, known in found if known is not None and claim.is_missed_by(known)]


def _sentences(rows: Rows, figures: Figures) -> Sentences:
    off, still = (_off(setting, rows, figures) for setting in ("tsai", "assumed"))
    named = listing([claim.brief for claim in still])
    left = f"{len(still)} of {len(off)} deviations are left ({named})"
    left = left if still else "no deviation is left"
    resnet = next(c for c in CLAIMS if (c.kind, c.network) == ("time", "resnet50"))
    shown = [value(resnet, setting, rows, figures) or 0.0 for setting in ("tsai", "assumed")]
    beyond = [
        TITLES[claim.network]
        for claim in CLAIMS
        if claim.kind == "time"
        and (value(claim, "optimum", rows, figures) or 0.0)
        > (value(claim, "tsai", rows, figures) or 0.0)
    ]
    return (
        f"Of {len(CLAIMS)} figures of the thesis, {len(CLAIMS) - len(off)} are met within "
        f"{LIMIT:g} points by its policy here.",
        f"Under three assumptions, changed together, {left}. Of ResNet-50 they change one thing, "
        f"how operations are counted: its time changes by {shown[1]:.1f} % instead of "
        f"{shown[0]:.1f} %, against {resnet.paper:.1f} % in the thesis.",
        f"Of the optimum, time falls less with capacity than of the policy for {listing(beyond)}: "
        "part of what a larger scratchpad seems to bring is what the policy wastes in a small one.",
    )


STUDY = Study(
    name="claims",
    title="the thesis's figures, here, and at the optimum",
    about=(
        "Which figures of Tsai (2021), chapter 5, does its policy give here, and what would the "
        "optimum give? One training step, batch 32 (Transformer 128), 616 GB/s, 13.45 TFLOP/s "
        "with two operations to a multiply-accumulate, lowering ideal, as the thesis assumes. "
        "*tsai* is its complete policy; *optimum* the certified bound of the fluid relaxation in "
        "the listed order, for traffic with objective traffic (of GNMT within 0.5 %, of the "
        "others within 0.1 %), for shares the schedule of `page`; *assumed* is tsai under three "
        "assumptions where the thesis is silent: a multiply-accumulate is one operation; the "
        "Transformer's feed-forward layers are 1024 wide, not 4096; Transformer and GNMT have no "
        "layer over the vocabulary. "
        "These were found by trying variants against the figures: a plausible reading of the "
        "thesis, no reproduction. "
        "Deviations are in points, bold above 10."
    ),
    parts=parts,
    find=find,
    figures=lambda: shares.measure(
        {"tsai": (PLAIN, "tsai"), "optimum": (PLAIN, "page"), "assumed": (ALL, "tsai")}
    ),
)
