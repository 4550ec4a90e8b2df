"""Cases, their rows, and what another run makes of them."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from spmopt.core.errors import InputError
from spmopt.experiments.queue import TaskQueue
from spmopt.experiments.rows import Row, Texts
from spmopt.experiments.run import run
from spmopt.experiments.store import RowTable
from tests.experiments.work import CASES, COLUMNS, dies, interrupted_at_3, square

ROWS = [{"x": x, "square": x * x} for x in range(6)]


def store(path: Path | None, **identity: object) -> RowTable:
    return RowTable(path, COLUMNS, identity)


def computed(table: RowTable, queue: TaskQueue | None = None) -> Sequence[Row]:
    run(CASES, square, table, queue)
    return table.rows


def test_rows_are_kept_in_the_order_of_the_cases(tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    early = store(path)
    early.add([ROWS[4]])
    early.close()
    with TaskQueue(2) as queue:
        assert computed(store(path), queue) == ROWS
    assert store(path).rows == ROWS
    assert list(tmp_path.iterdir()) == [path]
    run(CASES, dies, store(path))


def test_an_interrupt_keeps_what_is_done(tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    with pytest.raises(KeyboardInterrupt):
        run(CASES, interrupted_at_3, store(path))
    assert store(path).rows == ROWS[:3]
    assert computed(store(path)) == ROWS


def test_another_identity_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    store(path, a=1).add(ROWS[:1])
    with pytest.raises(InputError, match=r"another sweep \(a differs\); name another file"):
        store(path, a=2)
    path.write_text("x,square\n")
    with pytest.raises(InputError, match="is not a sweep's file"):
        store(path)


def test_a_header_alone_never_blocks(tmp_path: Path) -> None:
    """As a killed run leaves it; one that failed by itself leaves nothing."""
    path = tmp_path / "s.csv"
    store(path, a=1)
    assert path.exists()
    assert computed(store(path, a=2)) == ROWS
    path.unlink()
    with pytest.raises(ZeroDivisionError):
        run(CASES, lambda x: {"x": 1 // 0}, store(path, a=1))
    assert list(tmp_path.iterdir()) == []


def test_a_file_is_of_one_run_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    mine = store(path, a=1)
    mine.add(ROWS[:1])
    for a in (1, 2):
        with pytest.raises(InputError, match=r"s\.csv: another process adds rows to it; wait"):
            store(path, a=a)
    mine.close()
    assert store(path, a=1).rows == ROWS[:1]


def test_a_dead_worker_is_replaced(tmp_path: Path) -> None:
    table, said = store(None), list[str]()
    cases: dict[Texts, tuple[int, str]] = {(str(x),): (x, str(tmp_path / "died")) for x in range(4)}
    with TaskQueue(2, report=said.append) as queue:
        run(cases, dies, table, queue)
    assert table.rows == ROWS[:4]
    assert said == ["a process died and was replaced; what it ran is run again"]


def test_a_case_that_kills_every_worker_is_an_error() -> None:
    cases: dict[Texts, tuple[int, str]] = {("0",): (0, "")}
    with (
        pytest.raises(InputError, match="a process died 3 times at the same case"),
        TaskQueue(2) as queue,
    ):
        run(cases, dies, store(None), queue)
