"""The error for a name that nothing bears: lists what there is, nearest first."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from spmopt.core.errors import InputError


def unknown(what: str, name: str, known: Iterable[str]) -> InputError:
    """Error "no ``what`` called ``name``", with the nearest of ``known`` or all of them."""
    names = sorted(known)
    near = get_close_matches(name.lower(), names, n=1, cutoff=0.6)
    hint = f"did you mean {near[0]}?" if near else f"choose one of {', '.join(names)}"
    return InputError(f"no {what} called {name!r}; {hint}")
