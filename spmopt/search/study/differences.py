"""In what one study differs from another, in words."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from spmopt.report.quantities import shown_setting

_MOST = 3
"""So many differences are said, of more their number."""
_MADE = ("objectives", "scheduler", "schedule_for", "tolerance", "time_limit_s")

_Pair = tuple[str, Any, Any, Callable[[Any], str]]
"""What is compared, both values, and how they are shown."""


def differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """What ``new`` has in place of what ``old`` had, as ``batch 4, was 64``.

    Both as ``Setup.record`` gives them, and JSON reads them.
    """
    pairs = [
        *_networks(old["networks"], new["networks"]),
        *_space(old["space"], new["space"]),
        *((key, old.get(key), new.get(key), _listed) for key in _MADE),
    ]
    said = [_sentence(*pair) for pair in pairs if pair[1] != pair[2]]
    more = len(said) - _MOST
    return said if more <= 0 else [*said[:_MOST], f"and {more} more"]


def _sentence(what: str, was: Any, now: Any, shown: Callable[[Any], str]) -> str:
    old, new = shown(was), shown(now)
    if old == new:  # by rounding
        old, new = str(was), str(now)
    return f"{what} {new}, was {old}"


def _networks(old: list[Mapping[str, Any]], new: list[Mapping[str, Any]]) -> Iterator[_Pair]:
    """Their names, or where these are the same what is different about them."""
    was, now = ([each["title"] or each["name"] for each in networks] for networks in (old, new))
    if was != now:
        yield "networks", was, now, _listed
        return
    for name, one, other in zip(now, old, new, strict=True):
        of = f" of {name}" if len(now) > 1 else ""
        for key in dict.fromkeys((*one, *other)):
            yield f"{key}{of}", one.get(key), other.get(key), _listed


def _space(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[_Pair]:
    was, now = old["machine"], new["machine"]
    if was.get("name") != now.get("name"):
        yield "machine", was.get("name"), now.get("name"), _listed
    else:
        yield from _fields("machine.", was, now)
    yield from _fields("", old["space"], new["space"])
    yield "constraints", old["constraints"], new["constraints"], _listed
    for table in ("cost", "weights"):
        yield from _fields(f"{table}.", old[table], new[table])


def _fields(prefix: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[_Pair]:
    for key in dict.fromkeys((*old, *new)):
        yield f"{prefix}{key}", old.get(key), new.get(key), partial(_values, key)


def _values(key: str, given: Any) -> str:
    """Values of a field; a range by its ends and step."""
    if isinstance(given, Mapping):
        ends = f"{shown_setting(key, given['low'])} to {shown_setting(key, given['high'])}"
        step = f" by {shown_setting(key, given['step'])}" if given.get("step") else ""
        return f"{ends}{step}{' (log)' if given.get('log') else ''}"
    if isinstance(given, list):
        return " or ".join(shown_setting(key, each) for each in given)
    return _listed(None) if given is None else shown_setting(key, given)


def _listed(given: Any) -> str:
    if isinstance(given, list):
        return " and ".join(map(_listed, given)) if given else _listed(None)
    if isinstance(given, bool):
        return "yes" if given else "no"
    return "not given" if given in (None, "") else str(given)
