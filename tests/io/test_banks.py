"""Files of machines with banks; those without are as they were."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from spmopt.audit import audit
from spmopt.core.errors import InputError
from spmopt.core.objective import energy_objective
from spmopt.core.result import Result
from spmopt.core.scheduler import Request
from spmopt.io.files import (
    StoredResult,
    decode_problem,
    encode_problem,
    encode_result,
    encode_schedule,
    read_problem,
    read_result,
    write_problem,
    write_result,
)
from spmopt.solving import solve
from tests.banked import banked
from tests.banks_by_hand import moving, problem
from tests.io.test_schema import complaints
from tests.strategies import random_problem
from tests.verifier.test_retention import forgetting


def solved() -> StoredResult:
    case = problem()
    objective = energy_objective(case.machine)
    return StoredResult(
        problem=case, result=solve(case, "banks", Request(objective=objective, tolerance=1e-6))
    )


@pytest.mark.parametrize("seed", range(5))
def test_problems_are_lossless(tmp_path: Path, seed: int) -> None:
    case = banked(seed, banks=3, ports=True)
    write_problem(tmp_path / "i.json", case)
    assert read_problem(tmp_path / "i.json") == case
    assert complaints("problem", json.loads((tmp_path / "i.json").read_text())) == []


def test_banks_that_forget_are_lossless(tmp_path: Path) -> None:
    plain = banked(1, banks=3)
    case = forgetting(plain, 7, *[None] * (len(plain.machine.banks) - 1))
    write_problem(tmp_path / "i.json", case)
    found = json.loads((tmp_path / "i.json").read_text())
    kept = [bank.get("retention_ns") for bank in found["machine"]["banks"]]
    assert kept == [7.5e9 / plain.machine.clock_hz, *[None] * (len(kept) - 1)]
    assert read_problem(tmp_path / "i.json") == case
    assert complaints("problem", found) == []


def test_results_are_lossless_and_hold(tmp_path: Path) -> None:
    stored = solved()
    path = tmp_path / "r.json"
    write_result(path, stored)
    again = read_result(path)
    assert encode_result(again) == encode_result(stored)
    assert again.result.totals == stored.result.totals
    assert again.result.schedule == stored.result.schedule
    assert complaints("result", json.loads(path.read_text())) == []
    found = audit(again.problem, again.result)
    assert found.violations == ()
    assert found.bound == stored.result.bound


def test_a_false_claim_on_a_bank_is_found() -> None:
    stored = solved()
    totals = stored.result.totals
    assert totals is not None
    more = totals.bank_read_bytes[0] + 1, *totals.bank_read_bytes[1:]
    claims = {
        "moved_bytes": replace(totals, moved_bytes=totals.moved_bytes + 1),
        "bank_read_bytes": replace(totals, bank_read_bytes=more),
        "bank_write_bytes": replace(totals, bank_write_bytes=()),
    }
    for field, wrong in claims.items():
        result: Result = replace(stored.result, totals=wrong)
        found = audit(stored.problem, result).violations
        assert any(field in violation.message for violation in found)


def test_files_without_banks_do_not_mention_them() -> None:
    case = random_problem(3)
    assert "banks" not in str(encode_problem(case))
    assert "moves" not in encode_schedule(moving(moved=False))
    result = solve(case, "residency", Request())
    text = json.dumps(encode_result(StoredResult(problem=case, result=result)))
    assert "bank" not in text
    assert "move" not in text


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"spm_bytes": 3}, "smaller than one page"),
        ({"spm_bytes": 8}, "its banks have 12 bytes, the scratchpad 8"),
        ({"read_pj_per_byte": -1}, "read_pj_per_byte must be finite"),
        ({"leakage_w": "no"}, r"banks\[0\].leakage_w: must be a finite number"),
        ({"read_bytes_per_s": 0}, "read_bytes_per_s must be at least 1"),
        ({"speed": 1}, "speed"),
    ],
)
def test_broken_banks_are_refused(change: dict[str, Any], message: str) -> None:
    document = json.loads(json.dumps(encode_problem(problem())))
    document["machine"]["banks"][0].update(change)
    with pytest.raises(InputError, match=message):
        decode_problem(document)
