import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

import pytest
from jsonschema import Draft202012Validator
from referencing import Registry, Resource

from spmopt.core.errors import InputError
from spmopt.core.result import Result, Status
from spmopt.io.files import (
    KINDS,
    decode_problem,
    decode_result,
    decode_schedule,
    encode_problem,
    encode_result,
    encode_schedule,
    schema,
)
from tests.fused import perceptron
from tests.io.samples import schedule, stored, with_memory
from tests.strategies import random_problem

SCHEMAS = {kind: schema(kind) for kind in KINDS}
REGISTRY: Registry[Any] = Registry().with_resources(
    [(document["$id"], Resource.from_contents(document)) for document in SCHEMAS.values()]
)
DECODE: dict[str, Callable[[object], object]] = {
    "problem": decode_problem,
    "schedule": decode_schedule,
    "result": decode_result,
}
Document = dict[str, Any]


def documents(kind: str) -> list[Document]:
    full = stored(random_problem(3, max_mappings=2))
    bare = Result(
        scheduler="fluid", objective=full.result.objective, status=Status.UNKNOWN, solve_s=0.0
    )
    made = {
        "problem": [
            encode_problem(with_memory(random_problem(0, max_mappings=2))),
            *(encode_problem(random_problem(seed, max_mappings=2)) for seed in range(20)),
        ],
        "schedule": [encode_schedule(schedule(rows)) for rows in (0, 4)],
        "result": [
            encode_result(full),
            encode_result(replace(full, result=bare)),
            encode_result(perceptron()),
        ],
    }
    return cast(list[Document], json.loads(json.dumps(made[kind])))


def complaints(kind: str, document: Document) -> list[str]:
    validator = Draft202012Validator(SCHEMAS[kind], registry=REGISTRY)
    return [error.message for error in validator.iter_errors(document)]


def brief(value: Any) -> Any:
    """Two rows of each list: a schema is checked row by row, and no test damages a row."""
    if isinstance(value, dict):
        return {name: brief(inner) for name, inner in value.items()}
    return [brief(inner) for inner in value[:2]] if isinstance(value, list) else value


@pytest.mark.parametrize("kind", KINDS)
def test_schemas_are_schemas(kind: str) -> None:
    Draft202012Validator.check_schema(SCHEMAS[kind])


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_written_fits_the_schema(kind: str) -> None:
    for document in documents(kind):
        assert complaints(kind, document) == []


def paths(value: object, prefix: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """Every field of every object within ``value``."""
    if not isinstance(value, dict):
        return []
    own = [(*prefix, name) for name in value]
    return own + [path for name, inner in value.items() for path in paths(inner, (*prefix, name))]


def holder(document: Document, path: tuple[str, ...]) -> Document:
    """Copy the objects down to the one that has the last field of ``path``; return that."""
    for name in path[:-1]:
        document[name] = dict(document[name])
        document = document[name]
    return document


@pytest.mark.parametrize(("kind", "which"), [*((kind, 0) for kind in KINDS), ("result", -1)])
def test_schema_and_reader_refuse_the_same_damage(kind: str, which: int) -> None:
    original = documents(kind)[which]
    # Any program's version may be named in "versions".
    known = [path for path in paths(original) if path[0] != "versions"]
    assert len(known) > 20
    assert complaints(kind, brief(original)) == []
    for path in known:
        # A result need not be in fusion tiles, nor a proof have runs or dual values at boundaries.
        parts = [("fusion", "certificate", part) for part in ("runs", "carried", "agreed")]
        optional = path in [("fusion",), *parts]
        for damage in ("unknown", "type") if optional else ("missing", "unknown", "type"):
            document = dict(original)
            object_ = holder(document, path)
            if damage == "missing":
                del object_[path[-1]]
            elif damage == "unknown":
                object_[path[-1] + "x"] = object_[path[-1]]
            else:
                object_[path[-1]] = {"not": "this"}
            assert complaints(kind, brief(document)), (path, damage)
            with pytest.raises(InputError) as caught:
                DECODE[kind](document)
            assert "\n" not in str(caught.value)
            assert path[-1] in str(caught.value), (path, damage)
