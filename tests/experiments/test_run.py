"""Cases, their rows, and what another run makes of them."""

import os
import subprocess
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pytest

from spmopt.core.errors import InputError
from spmopt.experiments import claims
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
    killed = store(path, a=1)
    assert path.exists()
    assert computed(store(path, a=2)) == ROWS
    path.unlink()
    del killed
    with pytest.raises(ZeroDivisionError):
        run(CASES, lambda x: {"x": 1 // 0}, store(path, a=1))
    assert list(tmp_path.iterdir()) == []


def test_a_header_blocks_while_its_process_computes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "s.csv"
    mine = store(path, a=1)
    assert mine.claim([("1",)])
    monkeypatch.setattr(claims, "file_name", lambda: "other-1-2")
    with pytest.raises(InputError, match=r"another sweep \(a differs\)"):
        store(path, a=2)
    mine.close()
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_another_by_now_is_refused(tmp_path: Path) -> None:
    """A new file often gets the number of the one that was removed just before."""
    path = tmp_path / "s.csv"
    table = store(path, a=1)
    table.add(ROWS[:1])
    path.unlink()
    store(path, a=2).add(ROWS[:1])
    whole = path.read_text()
    with pytest.raises(InputError, match=r"another sweep \(a differs\)"):
        table.add(ROWS[1:2])
    assert path.read_text() == whole


def test_a_file_that_another_has_sorted_is_read_anew(tmp_path: Path) -> None:
    path, keys = tmp_path / "s.csv", [(str(x),) for x in range(2, 6)]
    table, other = store(path), store(path)
    table.add(ROWS[4:])
    other.add(ROWS[2:4])
    for _ in range(2):
        other.close(keys)
        other.add(ROWS[:1])
    table.add(ROWS[1:2])
    assert sorted(table.rows, key=lambda row: str(row["x"])) == ROWS
    assert len(path.read_text().splitlines()) == 2 + len(ROWS)


OTHER = """
import sys
from pathlib import Path
from tests.experiments.test_run import ROWS, store
table = store(Path(sys.argv[1]))
assert table.claim([("1",)])
print("claimed", flush=True)
sys.stdin.readline()
table.add([ROWS[1]])
table.close()
"""


@pytest.mark.parametrize("ends", ["with its row", "without"])
def test_rows_of_another_process_are_waited_for(tmp_path: Path, ends: str) -> None:
    path, line = tmp_path / "s.csv", [sys.executable, "-c", OTHER, str(tmp_path / "s.csv")]
    said: list[str] = []
    with subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdin is not None
        assert other.stdout.readline() == "claimed\n"
        assert not store(path).claim([("1",), ("2",)])

        def report(message: str, part: float | None) -> None:
            said.append(message)
            if "waiting" in message and other.stdin is not None and not other.stdin.closed:
                if ends == "without":
                    other.kill()
                other.stdin.close()

        table = store(path)
        run(CASES, square, table, report=report)
    assert table.rows == ROWS
    assert "waiting for 1 cases of other processes" in said
    assert list(tmp_path.iterdir()) == [path]


def test_a_queue_of_what_others_are_at_ends() -> None:
    heard: list[Row] = []
    with TaskQueue(2) as queue:
        queue.add((), partial(square, 1), heard.append, lambda: False)
        assert list(queue.steps()) == heard == []


def test_cases_of_a_dead_process_are_taken_over(tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    code = (
        "import os; from pathlib import Path; from tests.experiments.test_run import store; "
        f"s = store(Path({str(path)!r})); assert s.claim([('1',)]); os._exit(0)"
    )
    ended = subprocess.run([sys.executable, "-c", code], check=True)
    assert ended.returncode == 0
    said: list[str] = []
    assert computed(RowTable(path, COLUMNS, {}, said.append)) == ROWS
    assert len(said) == 1
    assert said[0].endswith("has ended; its cases go to whoever is next")
    assert str(os.getpid()) not in said[0]


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
