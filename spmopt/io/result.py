"""Results as JSON: the instance, the schedule, its claimed figures and the proof of its bound.

A result file stands alone: the verifier needs nothing else to check schedule and bound.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from fractions import Fraction
from typing import Self

from spmopt import __version__
from spmopt.core.instance import Instance
from spmopt.core.objective import REPLAY, WEIGHTS, Objective
from spmopt.core.result import BankPrices, Certificate, ClassBound, Result, Status, Totals
from spmopt.core.schedule import Schedule
from spmopt.io.document import Json, body, header
from spmopt.io.fields import Fields
from spmopt.io.instance import decode_instance, encode_instance
from spmopt.io.schedule import decode_schedule, encode_schedule

_BANK_WEIGHTS = ("bank_read_byte", "bank_write_byte")  # of machines with banks only
_OPTIONAL = ("replayed", *_BANK_WEIGHTS)  # the first: written before it was, the name says it
_BANK_BYTES = ("bank_read_bytes", "bank_write_bytes")  # likewise
_BANK_PRICES = tuple(f.name for f in fields(BankPrices))
_OBJECTIVE = ("name", "unit", *WEIGHTS)
_PRICES = ("spm", "dram_in", "dram_out")
_COUNTS = ("dma_commands", "dma_descriptors")  # files older than these figures lack them
_BANKED = ("moved_bytes", *_BANK_BYTES)
_TOTALS = tuple(f.name for f in fields(Totals) if f.name not in (*_COUNTS, *_BANKED))
_PLAIN = ("scheduler", "verified", "solve_s", "cpu_s", "notes")
_BODY = (
    "versions",
    "instance",
    *_PLAIN,
    *("status", "objective", "value", "bound", "certificate", "class_bound"),
    *("totals", "schedule"),
)
_EXTRA = ("tolerance",)  # files that were written before it was recorded lack it
_OWN_ORDER = ("order",)  # likewise


@dataclass(frozen=True, kw_only=True)
class StoredResult:
    """A result together with the instance that it solves and the versions that made it."""

    instance: Instance
    result: Result
    versions: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def made_here(cls, instance: Instance, result: Result) -> Self:
        """One that this program has made."""
        versions = {"spmopt": __version__, "python": platform.python_version()}
        return cls(instance=instance, result=result, versions=versions)


def encode_result(stored: StoredResult) -> Json:
    """Return a result as a JSON document (schema ``result.schema.json``)."""
    result = stored.result
    return {
        **header("result"),
        "versions": dict(stored.versions),
        **{name: getattr(result, name) for name in _PLAIN},
        "notes": list(result.notes),
        "status": str(result.status),
        "tolerance": result.tolerance,
        "objective": _encode_objective(result.objective),
        "value": _encode_fraction(result.value),
        "bound": _encode_fraction(result.bound),
        "class_bound": _columns(result.class_bound, ("value", "holds_for", "proved_by")),
        "totals": _encode_totals(result.totals),
        "instance": encode_instance(stored.instance),
        "certificate": _encode_certificate(result.certificate),
        "schedule": None if result.schedule is None else encode_schedule(result.schedule),
    }


def decode_result(value: object, where: str = "") -> StoredResult:
    """Read what :func:`encode_result` wrote; whether it is true, the verifier says.

    Raises
    ------
    InputError
        Not a result of this version, or one with a field of the wrong type.
    """
    f = body(value, where, "result", _BODY, _EXTRA)
    objective = _objective(f.object("objective", _OBJECTIVE, _OPTIONAL))
    result = Result(
        scheduler=f.text("scheduler"),
        objective=objective,
        status=f.choice("status", Status),
        tolerance=f.optional("tolerance", f.least_0),
        solve_s=f.real("solve_s"),
        cpu_s=f.real("cpu_s"),
        verified=f.flag("verified"),
        notes=tuple(f.texts("notes")),
        value=f.optional("value", f.fraction),
        bound=f.optional("bound", f.fraction),
        totals=f.optional(
            "totals", lambda name: _totals(f.object(name, _TOTALS, (*_COUNTS, *_BANKED)))
        ),
        certificate=f.optional("certificate", lambda name: _certificate(f, name)),
        class_bound=f.optional("class_bound", lambda name: _class_bound(f, name)),
        schedule=f.optional("schedule", lambda name: _schedule(f, name)),
    )
    versions = f.object("versions", _keys(f.values["versions"]))
    return StoredResult(
        instance=decode_instance(f.values["instance"], f.path("instance")),
        result=result,
        versions={name: versions.text(name) for name in versions.values},
    )


def _columns(record: object, names: tuple[str, ...]) -> Json | None:
    return None if record is None else {name: getattr(record, name) for name in names}


def _encode_fraction(value: Fraction | None) -> str | None:
    return None if value is None else str(value)


def _encode_objective(objective: Objective) -> Json:
    weights = {name: str(getattr(objective, name)) for name in WEIGHTS}
    of_banks = _fractions(objective, _BANK_WEIGHTS) if objective.bank_read_byte else {}
    unusual = objective.replayed and objective.name != REPLAY.name
    own_time = {"replayed": True} if unusual else {}
    return {"name": objective.name, "unit": objective.unit, **own_time, **weights, **of_banks}


def _objective(f: Fields) -> Objective:
    weights = {name: f.fraction(name) for name in WEIGHTS}
    read, write = (f.optional(name, f.fractions) or () for name in _BANK_WEIGHTS)
    return Objective(
        name=f.text("name"),
        unit=f.text("unit"),
        replayed=f.optional("replayed", f.flag) or f.text("name") == REPLAY.name,
        **weights,
        bank_read_byte=read,
        bank_write_byte=write,
    )


def _fractions(record: object, names: tuple[str, ...]) -> dict[str, list[str]]:
    return {name: [str(value) for value in getattr(record, name)] for name in names}


def _encode_totals(totals: Totals | None) -> Json | None:
    plain = _columns(totals, (*_TOTALS, *_COUNTS))
    if plain is None or totals is None or not totals.bank_read_bytes:
        return plain
    return {**plain, "moved_bytes": totals.moved_bytes, **_fractions(totals, _BANK_BYTES)}


def _encode_certificate(certificate: Certificate | None) -> Json | None:
    if certificate is None:
        return None
    prices = {name: getattr(certificate, name).tolist() for name in _PRICES}
    objective = _encode_objective(certificate.objective)
    order = None if certificate.order is None else certificate.order.tolist()
    plain = {"objective": objective, "bits": certificate.bits, "order": order, **prices}
    if not certificate.banks:
        return plain
    banks = [
        {name: getattr(bank, name).tolist() for name in _BANK_PRICES} for bank in certificate.banks
    ]
    return {**plain, "banks": banks}


def _certificate(result: Fields, name: str) -> Certificate:
    f = result.object(name, ("objective", "bits", *_PRICES), (*_OWN_ORDER, "banks"))
    banks = f.optional("banks", lambda name: f.objects(name, _BANK_PRICES)) or []
    return Certificate(
        objective=_objective(f.object("objective", _OBJECTIVE, _OPTIONAL)),
        bits=f.whole("bits"),
        spm=f.ints("spm"),
        dram_in=f.ints("dram_in"),
        dram_out=f.ints("dram_out"),
        order=f.optional("order", f.ints),
        banks=tuple(BankPrices(spm=bank.ints("spm"), port=bank.ints("port")) for bank in banks),
    )


def _class_bound(result: Fields, name: str) -> ClassBound:
    f = result.object(name, ("value", "holds_for", "proved_by"))
    return ClassBound(
        value=f.real("value"), holds_for=f.text("holds_for"), proved_by=f.text("proved_by")
    )


def _totals(f: Fields) -> Totals:
    figures = {name: f.whole(name) for name in _TOTALS}
    read, write = (f.optional(name, f.fractions) or () for name in _BANK_BYTES)
    return Totals(
        **figures,
        dma_commands=f.optional("dma_commands", f.whole),
        dma_descriptors=f.optional("dma_descriptors", f.whole),
        moved_bytes=f.optional("moved_bytes", f.whole) or 0,
        bank_read_bytes=read,
        bank_write_bytes=write,
    )


def _schedule(result: Fields, name: str) -> Schedule:
    return decode_schedule(result.values[name], result.path(name))


def _keys(value: object) -> list[str]:
    return [str(key) for key in value] if isinstance(value, dict) else []
