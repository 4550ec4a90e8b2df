"""Which assumption brings which figure of Tsai's thesis nearer: each by itself, and all."""

from __future__ import annotations

from spmopt.studies import shares
from spmopt.studies.claim import CLAIMS, LIMIT, Claim
from spmopt.studies.paper import FAST, MB, NETWORKS, RATE, case
from spmopt.studies.readings import PLAIN, READINGS
from spmopt.studies.rows import Rows
from spmopt.studies.study import Figures, Findings, Part, Sentences, Sheet, Study
from spmopt.studies.words import listing
from spmopt.sweep.work import Search

_DEPTH_FIRST, _LISTED = "tsai", "tsai:order=listed"
_EACH = ("counting", "width", "vocabulary")
_BRIEF = Search(time_limit_s=1.0)
COLUMNS = {
    **{name: (name, _DEPTH_FIRST) for name in READINGS},
    "listed": ("tsai", _LISTED),
    "all, listed": ("all", _LISTED),
}
"""Reading and scheduler of each column of the table."""


def parts() -> tuple[Part, ...]:
    """Both orders under every reading, with the throughput of the thesis and with more."""
    found = []
    for name, reading in READINGS.items():
        networks = [each for each in NETWORKS if reading == PLAIN or reading.applies(each)]
        normal = tuple(reading.of(case(each, _sizes(each))) for each in networks)
        fast = tuple(reading.of(case(each, (24 * MB,), throughput=FAST)) for each in networks)
        for part, cases in ((name, normal), (f"{name}-faster", fast)):
            both = (_DEPTH_FIRST, _LISTED)
            found.append(Part(name=part, cases=cases, schedulers=both, search=_BRIEF))
    return tuple(found)


def _sizes(network: str) -> list[int]:
    """Capacities that the claims on a network speak of (bytes)."""
    sizes = {claim.at_mb for claim in CLAIMS if claim.network == network and not claim.is_share}
    return [size * MB for size in sorted({24, *sizes})]


def measure() -> Figures:
    """Shares, which are in no row."""
    return shares.measure({name: (READINGS[of], by) for name, (of, by) in COLUMNS.items()})


def value(claim: Claim, column: str, rows: Rows, figures: Figures) -> float | None:
    """What was found, in percent; None where the reading changes nothing of the network."""
    if claim.is_share:
        return figures.get(f"{claim.kind} {claim.network} {column}")
    reading, scheduler = COLUMNS[column]
    mine = rows.where(network=claim.network, scheduler=scheduler)
    if reading not in mine.texts("part"):
        return None
    what = "traffic_bytes" if claim.kind == "traffic" else "time_s"
    small = mine.number(what, part=reading, spm_bytes=24 * MB)
    if claim.kind == "faster":
        fast = mine.number(what, part=f"{reading}-faster", spm_bytes=24 * MB)
        return 100 * (small / fast - 1)
    return 100 * (mine.number(what, part=reading, spm_bytes=claim.at_mb * MB) / small - 1)


def find(rows: Rows, figures: Figures) -> Findings:
    """One line for each figure."""
    lines = []
    for claim in CLAIMS:
        found = [value(claim, column, rows, figures) for column in COLUMNS]
        lines.append([claim.text, claim.told, *(_cell(claim, each) for each in found)])
    return Findings(
        sheets=(Sheet(heads=("claim", "paper, %", *COLUMNS), rows=lines),),
        sentences=_sentences(rows, figures),
        notes=(
            "*tsai*: as [claims.md](claims.md) has it, two operations to a multiply-accumulate; "
            "*counting*: one; *width*: feed-forward layers of the Transformer 1024 wide, not 4096; "
            "*vocabulary*: of one word, which leaves out the layer over the vocabulary and the "
            "embeddings of Transformer and GNMT; *all*: these three; *listed*: as tsai, in the "
            "order listed instead of depth first. - where an assumption changes nothing.",
            f"The thesis says none of this: it gives H = 1024, and {RATE / 1e12:.4g} TFLOP/s. "
            "That an assumption brings a figure nearer does not prove that it was made.",
            "Bounds in the rows were cut short after a second, and are not used.",
        ),
    )


def _cell(claim: Claim, found: float | None) -> str:
    if found is None:
        return "-"
    text = f"{found:{claim.sign}.1f}"
    return f"**{text}**" if claim.is_missed_by(found) else text


def missed(column: str, rows: Rows, figures: Figures) -> list[Claim]:
    """Figures missed; where a reading changes nothing, as without it."""
    return [
        claim
        for claim in CLAIMS
        for plain in [value(claim, "tsai", rows, figures)]
        for found in [value(claim, column, rows, figures)]
        if (known := plain if found is None else found) is not None and claim.is_missed_by(known)
    ]


def _sentences(rows: Rows, figures: Figures) -> Sentences:
    off = missed("tsai", rows, figures)
    left = {name: missed(name, rows, figures) for name in COLUMNS}

    def met(name: str) -> list[Claim]:
        return [claim for claim in off if claim not in left[name]]

    alone = [f"{name} {len(met(name)) or 'none'}" for name in (*_EACH, "listed")]
    told = [f"{name} meets {_brief(met(name))}" for name in (*_EACH, "listed") if met(name)]
    joint = [c for c in met("all") if all(c in left[name] for name in (*_EACH, "listed"))]
    return (
        f"Of {len(CLAIMS)} figures {len(off)} are missed by more than {LIMIT:g} points. Of these "
        f"each by itself meets: {listing(alone)}; all three assumptions together {len(met('all'))}"
        f" (in the order listed {len(met('all, listed'))}).",
        f"Alone {listing(told) or 'none meets any'}; {_brief(joint) or 'none'} "
        f"{'take' if len(joint) != 1 else 'takes'} several together.",
        _unexplained(left["all"], rows, figures),
    )


def _brief(claims: list[Claim]) -> str:
    return listing([claim.brief for claim in claims])


def _unexplained(left: list[Claim], rows: Rows, figures: Figures) -> str:
    if not left:
        return "None is left."
    told = []
    for claim in left:
        found = [value(claim, column, rows, figures) for column in ("all", "all, listed")]
        shown = ", ".join("-" if each is None else f"{each:.1f} %" for each in found)
        told.append(f"{claim.brief} ({shown} in the order listed, {claim.told} % in the thesis)")
    return f"Missed under all three, for a reason that is not known here: {listing(told)}."


STUDY = Study(
    name="assumptions",
    title="which assumption brings which figure of the thesis nearer",
    about=(
        "The figures of Tsai (2021), chapter 5, by its policy here, under each of "
        "three assumptions by itself, under all three, and in the other order. One training "
        "step, batch 32 (Transformer 128), 616 GB/s, 13.45 TFLOP/s, lowering ideal. "
        f"Percent; bold where the thesis's figure is missed by more than {LIMIT:g} points."
    ),
    parts=parts,
    find=find,
    figures=measure,
)
