"""Files of older versions are read: their fields get the names of today at one place."""

from pathlib import Path

import pytest

from spmopt.io.files import read_problem
from spmopt.io.renames import FIELDS, rename_fields, rename_scheduler

INSTANCES = Path(__file__).parents[2] / "instances"


def test_every_field_gets_its_name_of_today() -> None:
    assert rename_fields(dict.fromkeys(FIELDS, 1)) == dict.fromkeys(FIELDS.values(), 1)


def test_a_document_of_today_stays_as_it_is() -> None:
    document = {"fusion_plan": {"micro_batches": [1, 2]}, "mappings": {"fetches": [1]}}
    assert rename_fields(document) == document


def test_pieces_are_an_object_or_a_number() -> None:
    old = {"pieces": {"cover": {"pieces": [4], "bands": [1]}, "loops": [{"pieces": 4}]}}
    assert rename_fields(old) == {
        "fusion": {
            "fusion_plan": {"micro_batches": [4], "stripes": [1]},
            "loops": [{"micro_batches": 4}],
        }
    }


def test_attributes_of_operators_keep_their_names() -> None:
    assert rename_fields({"attributes": [{"mode": "linear"}]}) == {
        "attributes": [{"mode": "linear"}]
    }


def test_a_fusion_space_is_renamed_by_value() -> None:
    assert rename_fields({"family": {"name": "fuse"}}) == {
        "fusion_space": {"name": "single-product"}
    }


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("page", "residency"),
        ("pieces:family=fuse", "fusion:space=single-product"),
        ("pieces:family=batch", "fusion:space=batch"),
        ("belady:granularity=page", "belady:granularity=page"),
    ],
)
def test_schedulers_are_renamed_with_their_options(old: str, new: str) -> None:
    assert rename_scheduler(old) == new


def test_a_problem_of_version_3_is_read() -> None:
    text = (INSTANCES / "two-modes.json").read_text()
    assert '"version": 3' in text.replace('"version":3', '"version": 3') or '"modes"' in text
    assert read_problem(INSTANCES / "two-modes.json").operations[0].mappings
