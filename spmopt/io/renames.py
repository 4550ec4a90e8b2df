"""Names in files of older versions, and their names of today: one table, applied as a file is read.

Versions 1 to 3 of results, problems and schedules said cover, segment, piece, band, mode and pass.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

FIELDS: Mapping[str, str] = {
    "bands": "stripes",
    "border": "boundary",
    "cover": "fusion_plan",
    "cover_bound": "fusion_bound",
    "family": "fusion_space",
    "instance": "problem",
    "lowering": "mapper",
    "mode": "mapping",
    "modes": "mappings",
    "passes": "fetches",
    "price": "dual",
    "prices": "duals",
    "segment": "fused_group",
    "segments": "fused_groups",
    "stationary": "required_resident",
}
"""New name of each field.

``pieces`` has two: an object is ``fusion``, a number ``micro_batches``."""
FORMATS: Mapping[str, str] = {"spmopt-instance": "spmopt-problem"}
"""New name of each format."""
SCHEDULERS: Mapping[str, str] = {
    "fluid": "lp-bound",
    "page": "residency",
    "pieces": "fusion",
    "whole": "residency:granularity=tensor",
}
"""New name of each scheduler."""
FUSION_SPACES: Mapping[str, str] = {"fuse": "single-product"}
"""New name of each fusion space."""
ROWS: Mapping[str, str] = {
    "dirty out": "dirty at end",
    "finds": "capacity before tiles",
    "in": "resident at begin",
    "leaves": "capacity after tiles",
    "moves": "channel time",
    "out": "resident at end",
    "owed": "write back of old",
    "reads": "inward time",
    "room": "capacity",
    "writes": "outward time",
}
"""New name of each family of rows in a certificate of a fusion space."""
ROWS_OF_TODAY = frozenset({*ROWS.values(), "resident in mappings"})
_FREE = frozenset({"attributes", "versions"})
"""Fields with keys that are names of others: of ONNX attributes, of programs."""


def rename_fields(value: Any) -> Any:
    """Return a document with the fields, schedulers and fusion spaces named as today.

    A document of today stays as it is.
    """
    if isinstance(value, list):
        # Columns of numbers are long, and have no names.
        return [rename_fields(item) for item in value] if _has_objects(value) else value
    if not isinstance(value, dict):
        return value
    renamed = {}
    for name, inner in value.items():
        new = _new_name(name, inner)
        # Keys of these are data: an ONNX attribute may be called mode.
        renamed[new] = inner if name in _FREE else rename_fields(inner)
        if new == "scheduler" and isinstance(inner, str):
            renamed[new] = rename_scheduler(inner)
        # Only an object is a fusion space; elsewhere the field is its name alone.
        if new == "fusion_space" and isinstance(inner, dict) and "name" in inner:
            space = inner["name"]
            renamed[new]["name"] = FUSION_SPACES.get(space, space)
    return renamed


def rename_scheduler(name: str) -> str:
    """Return the name of today of a scheduler with its options."""
    # Names are ``scheduler:option=value,...@backend``.
    own, at, backend = name.partition("@")
    scheduler, colon, options = own.partition(":")
    if scheduler == "pieces":
        for old, new in FUSION_SPACES.items():
            options = options.replace(f"family={old}", f"space={new}")
        options = options.replace("family=", "space=")
    options = options.replace("granularity=whole", "granularity=tensor")
    return SCHEDULERS.get(scheduler, scheduler) + colon + options + at + backend


def _has_objects(values: list[Any]) -> bool:
    return bool(values) and isinstance(values[0], dict | list)


def _new_name(name: str, value: object) -> str:
    if name == "pieces":
        return "fusion" if isinstance(value, dict) else "micro_batches"
    return FIELDS.get(name, name)
