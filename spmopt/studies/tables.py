"""Tables and sentences on the gaps of greedy rules."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import mean, median

from spmopt.studies.gaps import (
    OWN,
    PAGES,
    REORDERING,
    Gaps,
    Levels,
    Point,
    best_of,
    place,
    rule,
    whole_of,
    worst_of,
)
from spmopt.studies.paper import MB
from spmopt.studies.study import Sentences, Sheet
from spmopt.studies.words import listing, megabytes, percent

PUBLISHED = ("tsai", "autotm", "msa")
_NOTHING = "stream"
_TIE = 1e-9
_NIL = 5e-5
_LARGE = 10.0
_SHOWN = 3
"""Networks told of at either end."""


def by_rule(title: str, found: Gaps, own: Gaps) -> Sheet:
    """Medians, mean and worst gap of every rule; ``own`` are gaps to other bounds."""
    points = next(iter(found.values())).keys()
    sizes = sorted({size for _, _, size in points})
    least = {point: min(found[name][point] for name in found) for point in points}
    lines = []
    for name, of in _beside(found, own).items():
        worst, where = worst_of(of)
        best = sum(gap <= least[point] + _TIE for point, gap in of.items())
        lines.append(
            [
                rule(name),
                _number(mean(of.values())),
                _median(of),
                *(_median(of, training=training) for training in (False, True)),
                *(_median(of, size=size) for size in sizes),
                _number(worst),
                place(where),
                str(best) if name in found else "-",
            ]
        )
    heads = (
        *("rule", "mean", "median", "median forward", "median training"),
        *(f"median {megabytes(size)}" for size in sizes),
        *("worst", "where", f"best, ties included, of {len(points)}"),
    )
    return Sheet(title=title, heads=heads, rows=lines)


def _beside(found: Gaps, own: Gaps) -> Gaps:
    """All, those to other bounds below the same rule's."""
    both: dict[str, Mapping[Point, float]] = {}
    for name, of in found.items():
        both[name] = of
        both |= own if name == REORDERING else {}
    return both


def by_network(time: Gaps, traffic: Gaps, level: Levels) -> Sheet:
    """What there is to lose and what is lost, by network; most lost first."""
    whole, best = best_of(time, whole_of(time)), best_of(time, list(time))
    lines = []
    for network in ranked(time, whole):
        kept = [time[name] for name in (_NOTHING, whole, best)] + [traffic[whole]]
        cells = [_number(_average(of, network)) for of in kept]
        sizes = [megabytes(size) if size else "-" for size in level[network]]
        lines.append([network, *cells, " / ".join(sizes)])
    return Sheet(
        title="By network, mean over capacities and steps, %",
        heads=(
            *("network", f"{_NOTHING}: time", f"{whole}: time", f"{rule(best)}: time"),
            *(f"{whole}: traffic", "least traffic level from, forward / training"),
        ),
        rows=lines,
    )


def ranked(found: Gaps, name: str) -> list[str]:
    """Networks, the one on which a rule loses most first."""
    networks = dict.fromkeys(network for network, _, _ in found[name])
    return sorted(networks, key=lambda network: _average(found[name], network), reverse=True)


def _average(of: Mapping[Point, float], network: str) -> float:
    return mean(gap for at, gap in of.items() if at[0] == network)


def best_of_networks(found: Gaps) -> Sheet:
    """The best rule of each network and step, of whole tensors and of all."""
    points = next(iter(found.values())).keys()
    sizes = sorted({size for _, _, size in points})
    lines = []
    for network, training in dict.fromkeys(point[:2] for point in points):
        cells = [network, "training" if training else "forward"]
        for rules in (whole_of(found), list(found)):
            own = {
                name: {at: gap for at, gap in found[name].items() if at[:2] == (network, training)}
                for name in rules
            }
            best = best_of(own, rules)
            cells += [rule(best), " / ".join(map(_number, own[best].values()))]
        lines.append(cells)
    at = " / ".join(f"{size / MB:g}" for size in sizes)
    return Sheet(
        title=f"The best rule of each network (least mean gap of time), % at {at} MB",
        heads=("network", "step", "best of whole tensors", "gaps", "best of all", "gaps"),
        rows=lines,
        left=3,
    )


def _median(
    of: Mapping[Point, float], *, training: bool | None = None, size: int | None = None
) -> str:
    chosen = [
        gap
        for (_, trains, spm_bytes), gap in of.items()
        if training in (None, trains) and size in (None, spm_bytes)
    ]
    return _number(median(chosen)) if chosen else "-"


def _number(gap: float) -> str:
    if abs(gap) < _NIL:
        return "0"
    return f"{100 * gap:.3g}" if gap < _LARGE else f"{100 * gap:.0f}"


def sentences(time: Gaps, traffic: Gaps, own: Gaps, level: Levels) -> Sentences:
    """What rules lose, on which networks, and what they lack."""
    best, whole = best_of(time, list(time)), best_of(time, whole_of(time))
    known = [name for name in PUBLISHED if name in time]
    published = [f"{_mean(time[name])} ({name}{_besides(own, name)})" for name in known]
    return (
        f"The best greedy rule of whole tensors, {rule(whole)}, takes {_mean(time[whole])} more "
        f"time than the certified bound on average ({_spread(time[whole])}), the published ones "
        f"{listing(published)}; the best of all, {rule(best)}, takes {_mean(time[best])} "
        f"({_spread(time[best])}).",
        _where(time, traffic, whole, level),
        _why(time),
    )


def _mean(of: Mapping[Point, float]) -> str:
    return percent(mean(of.values()))


def _spread(of: Mapping[Point, float]) -> str:
    worst, where = worst_of(of)
    return f"median {percent(median(of.values()))}, at worst {percent(worst)}: {place(where)}"


def _besides(own: Gaps, name: str) -> str:
    return f"; {_mean(own[OWN])} above the bound of its own order" if name == REORDERING else ""


def _where(time: Gaps, traffic: Gaps, whole: str, level: Levels) -> str:
    """Networks that lose most and least, beside what there is to lose."""
    order, nothing = ranked(time, whole), time[_NOTHING]
    most, least = order[:_SHOWN], order[-_SHOWN:]
    cheap = ranked(time, _NOTHING)[::-1][:_SHOWN]

    def told(of: Mapping[Point, float], networks: list[str], named: bool = True) -> str:
        each = [(network, percent(_average(of, network))) for network in networks]
        return listing([f"{network} ({share})" if named else share for network, share in each])

    return (
        f"{rule(whole).capitalize()} loses most, on average over capacities and steps, on "
        f"{told(time[whole], most)}, where to keep nothing costs "
        f"{told(nothing, most, named=False)}; least on {told(time[whole], least)}, where it costs "
        f"{told(nothing, least, named=False)}{_fitting(least, level)}. Where to keep nothing costs "
        f"least, {told(nothing, cheap)}, computation covers traffic: there "
        f"{told(traffic[whole], cheap, named=False)} more traffic than the bound goes with "
        f"{told(time[whole], cheap, named=False)} more time."
    )


def _fitting(networks: list[str], level: Levels) -> str:
    """Which of them fit into less than the largest scratchpad."""
    fits = []
    for network in networks:
        sizes = [size for size in level[network] if size is not None]
        if len(sizes) == len(level[network]):
            fits.append(f"{network} fits, its least traffic is level from {megabytes(max(sizes))}")
    return f" ({listing(fits)})" if fits else ""


def _why(time: Gaps) -> str:
    """What pages are worth, and what the choice of a victim is."""
    return (
        "Two things are missing in belady, and neither is enough by itself: to keep heads of "
        "tensors where "
        f"the whole does not fit takes belady from {_mean(time['belady'])} on average to "
        f"{_mean(time[f'belady{PAGES}'])}, to weigh a victim's bytes against its absence takes it "
        f"to {_mean(time['belady-size'])}, and both together to "
        f"{_mean(time[f'belady-size{PAGES}'])}."
    )
