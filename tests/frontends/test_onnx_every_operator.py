"""Every operator of the installed onnx package has a rule, is taken apart, or says why not.

The corpus is that of ONNX itself, a small model for each use of each operator with its results.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import defs, numpy_helper

from spmopt.core.errors import InputError
from spmopt.frontends.onnx_import import load_onnx
from spmopt.graph import operators
from spmopt.graph.composites import COMPOSITES
from tests.thorough import THOROUGH

from .figures import output_shapes

IMPORTER = frozenset(("Constant", "Shape", "Size"))
"""What the importer works out by itself."""
REASONS = (
    # Not dense tensors, or empty ones.
    "element type STRING",
    "is not a dense tensor",
    "is a sequence of tensors",
    "dimension is open",
    "dimensions are open",
    "no output depends on an input",
    "has a dimension under 1",
    "do not fill axis",
    "has peepholes",
    "names a label twice",
    "is used, but the rule of MaxPool",
    "has no elements",
    # As long as data says.
    "depends on data",
    # Subgraphs.
    "holds a subgraph",
    "Scan of operator set 8",
)
"""Why a model of the corpus is refused, beside what the table says."""


def _schemas() -> list[str]:
    return sorted(
        {f"{s.domain}.{s.name}" if s.domain else s.name for s in defs.get_all_schemas()} - IMPORTER
    )


@pytest.mark.parametrize("name", _schemas())
def test_every_operator_has_a_rule_or_a_reason(name: str) -> None:
    if name in COMPOSITES:
        return
    spec = operators.SPECS.find(name)
    assert spec is not None, name
    if spec.refused:
        with pytest.raises(InputError, match=f"operator {name}: ..."):
            operators.lookup(name)


def test_a_reason_says_what_to_do_instead() -> None:
    """It is one sentence with two parts: why, and what to do."""
    reasons = {spec.name: spec.refused for spec in operators.SPECS.values() if spec.refused}
    assert len(reasons) >= 40
    assert all(text.count(";") == 1 and not text.endswith(".") for text in reasons.values())
    assert not reasons.keys() & COMPOSITES.keys()


def _corpus() -> tuple[Any, ...]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from onnx.backend.test.loader import load_model_tests

        return tuple(load_model_tests(kind="node"))


def _variants(case: Any) -> Iterator[onnx.ModelProto]:
    """Yield the model, with short operands behind the first as constants: integers, then all."""
    yield case.model
    for kinds in ("iub", "iubf"):
        made = onnx.ModelProto()
        made.CopyFrom(case.model)
        for place, (value, given) in enumerate(
            zip(list(made.graph.input), case.data_sets[0][0], strict=False)
        ):
            known = isinstance(given, np.ndarray | np.generic) and given.dtype.kind in kinds
            if place and known and given.size <= 1024:
                made.graph.initializer.append(
                    numpy_helper.from_array(np.asarray(given), value.name)
                )
                made.graph.input.remove(value)
        yield made


def _imported(case: Any, path: Path) -> list[tuple[int, ...]] | str:
    """Return the shapes of the outputs, or why there are none."""
    reason = ""
    for made in _variants(case):
        path.write_bytes(made.SerializeToString())
        try:
            return output_shapes(load_onnx(path, warn=lambda text: None))
        except InputError as error:
            reason = str(error)
    return reason


@pytest.mark.skipif(not THOROUGH, reason="ONNX takes 12 s to make its models alone")
def test_the_models_of_onnx_have_the_shapes_of_their_results(tmp_path: Path) -> None:
    refused, wrong, known = dict[str, str](), list[str](), 0
    for case in _corpus():
        found = _imported(case, tmp_path / "model.onnx")
        if isinstance(found, str):
            refused[case.name] = found
            continue
        known += 1
        results = case.data_sets[0][1]
        shapes = (np.shape(each) for each in results if hasattr(each, "shape"))
        expected = sorted(shape for shape in shapes if 0 not in shape)
        if expected and sorted(found) not in (expected, sorted(set(expected))):
            wrong.append(case.name)
    # An empty result is written as one element: no tensor of a graph is empty.
    assert set(wrong) <= {"test_constantofshape_int_shape_zero"}
    by_table = {spec.refused for spec in operators.SPECS.values() if spec.refused}
    unexplained = {
        name: text
        for name, text in refused.items()
        if not any(reason in text for reason in (*REASONS, *by_table))
    }
    assert not unexplained
    assert known > 0.85 * (known + len(refused)), Counter(refused.values()).most_common(5)
