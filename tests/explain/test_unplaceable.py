"""Buffers that cannot be placed: the reason, its figures, and how few are already too many."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from formulations.placement.place import place
from spmopt.core.errors import Conflict, Member
from spmopt.core.placement import Buffer
from spmopt.core.result import Status
from spmopt.core.scheduler import Request
from tests.cli.run import Run
from tests.cli.test_failures import refused
from tests.formulations.placement.brute_force import draw, least_height
from tests.thorough import share


def buffer(
    name: str, lower: int, upper: int, size: int, *, fixed: int | None = None, alignment: int = 1
) -> Buffer:
    return Buffer(
        name=name,
        lower=lower,
        upper=upper,
        size_bytes=size,
        fixed_bytes=fixed,
        alignment_bytes=alignment,
    )


def proof(capacity: int, *buffers: Buffer) -> Conflict:
    found = place(buffers, capacity, Request(time_limit_s=20.0))
    assert found.status is Status.INFEASIBLE
    assert found.conflict is not None
    assert found.conflict.irreducible
    return found.conflict


def figures(found: Conflict) -> tuple[int, int, int]:
    return found.required_bytes, found.available_bytes, found.missing_bytes


def names(found: Conflict) -> list[str]:
    return [member.name for member in found.members]


def test_more_bytes_than_there_are_at_one_time() -> None:
    found = proof(
        9,
        buffer("a", 0, 4, 4),
        buffer("b", 1, 3, 5),
        buffer("c", 2, 6, 1),
        buffer("d", 2, 3, 2),
        buffer("later", 4, 6, 8),
    )
    assert (found.where, found.time) == ("time 2", (2, 3))
    assert figures(found) == (12, 9, 3)
    # c can be left out and 11 bytes are still too many; without d there are 9.
    assert found.members == (
        Member(name="b", size_bytes=5, lifetime=(1, 3)),
        Member(name="a", size_bytes=4, lifetime=(0, 4)),
        Member(name="d", size_bytes=2, lifetime=(2, 3)),
    )
    assert str(found) == (
        "time 2: the 4 buffers that live then need 12 bytes, available are 9, missing are 3; "
        "b (5 bytes), a (4 bytes) and d (2 bytes) already do not fit together; "
        "give a larger --capacity"
    )


def test_fixed_buffers_that_overlap() -> None:
    clashing = (buffer("a", 2, 6, 8, fixed=4), buffer("c", 0, 9, 1), buffer("b", 0, 4, 8, fixed=0))
    found = proof(20, *clashing)
    assert (found.where, found.time) == ("buffers b and a", (2, 4))
    assert figures(found) == (8, 4, 4)
    assert [(m.name, m.offset_bytes) for m in found.members] == [("b", 0), ("a", 4)]
    # No capacity helps.
    assert place(clashing, None, Request(time_limit_s=20.0), lowest=True).conflict == found


def test_fixed_buffers_leave_no_hole() -> None:
    """The proof names the buffers around the hole, with their bytes at one time."""
    # Free are 3 to 6 and 9 to 10; f is elsewhere in time.
    found = proof(
        10,
        buffer("a", 0, 4, 3, fixed=0),
        buffer("b", 2, 4, 3, fixed=6),
        buffer("f", 8, 9, 10, fixed=0),
        buffer("free", 1, 3, 4),
    )
    assert sorted(names(found)) == ["a", "b", "free"]
    need_bytes, room, excess = figures(found)
    assert need_bytes - room == excess > 0


def test_fragments_that_only_a_search_finds() -> None:
    # 5 bytes of load in 5, but aligned to 4 the second ends at 6; c has nothing to do with it.
    found = proof(
        5,
        buffer("a", 0, 4, 3, alignment=4),
        buffer("b", 1, 3, 2, alignment=4),
        buffer("c", 7, 9, 5),
        buffer("d", 3, 5, 1),
    )
    assert (found.where, found.time) == ("2 buffers", (0, 4))
    assert figures(found) == (6, 5, 1)
    assert names(found) == ["a", "b"]


@given(st.integers(0, 100_000), st.booleans())
@settings(max_examples=share(120), deadline=None)
def test_members_do_not_fit_but_all_of_them_less_one_do(seed: int, windows: bool) -> None:
    buffers = draw(seed, windows=windows)
    least = least_height(buffers, 24)
    capacity = 24 if least is None else least - 1
    if capacity < 0:
        return
    found = place(buffers, capacity, Request(time_limit_s=20.0))
    assert found.status is Status.INFEASIBLE
    conflict = found.conflict
    assert conflict is not None
    assert conflict.irreducible
    assert conflict.missing_bytes == conflict.required_bytes - conflict.available_bytes > 0
    crowd = [b for b in buffers if b.name in {member.name for member in conflict.members}]
    assert len(crowd) == len(conflict.members)
    assert least_height(crowd, capacity) is None
    for one in crowd:
        assert least_height([b for b in crowd if b is not one], capacity) is not None


class TestCommand:
    def test_a_line(self, run: Run, tmp_path: Path) -> None:
        source = tmp_path / "b.csv"
        source.write_text(
            "id,lower,upper,size\n" + "".join(f"b{k},0,{k + 5},3\n" for k in range(5))
        )
        ran = run(f"allocate {source} --capacity 13B -o {tmp_path / 'o.csv'}")
        assert (ran.code, ran.out) == (3, "")
        (line,) = ran.err.splitlines()
        assert line.startswith(
            "error: time 0: the 5 buffers that live then need 15 bytes, available are 13, "
            "missing are 2; "
        )

    def test_fields_for_programs(self, run: Run, tmp_path: Path) -> None:
        source = tmp_path / "b.csv"
        source.write_text("id,lower,upper,size,offset\na,0,4,3,0\nb,1,3,2,2\n")
        for way in ("--capacity 9B", "--minimize"):
            ran = run(f"allocate {source} {way} -o {tmp_path / 'o.csv'} --json")
            assert ran.code == 3
            assert ran.record["status"] == "infeasible"
            conflict = ran.record["conflict"]
            assert (conflict["time"], conflict["missing_bytes"]) == ([1, 3], 1)
            assert [member["offset_bytes"] for member in conflict["members"]] == [0, 2]
            assert not (tmp_path / "o.csv").exists()
        line = refused(run(f"allocate {source} --minimize -o {tmp_path / 'o.csv'}"), code=3)
        assert line.startswith("error: buffers a and b: at fixed offsets 0 and 2 they overlap")
