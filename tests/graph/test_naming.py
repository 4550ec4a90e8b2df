"""Names are unique, as a search from the first number on would find them, without that search."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from spmopt.graph.naming import Names, all_unused, find_unused


class _Counted(Names):
    """Names that count how often they are asked for one."""

    looks = 0

    def __contains__(self, name: object) -> bool:
        self.looks += 1
        return super().__contains__(name)


@given(st.lists(st.sampled_from(("a", "a_2", "a_3", "b", "a_2_2", ""))), st.sets(st.just("a_4")))
def test_names_are_those_that_a_search_from_the_first_finds(asked: list[str], at: set[str]) -> None:
    names, taken = Names(), set(at)
    names.update(at)
    for name in asked:
        expected, count = name, 1
        while expected in taken:
            count += 1
            expected = f"{name}_{count}"
        taken.add(expected)
        assert find_unused(name, names) == expected
    assert names == taken


def test_many_of_one_name_are_not_looked_at_again() -> None:
    names = _Counted()
    for _ in range(1_000):
        find_unused("same", names)
    assert names.looks <= 3_000


@given(st.lists(st.sampled_from(("a", "a_2", "b", "c", "d", ""))))
def test_all_names_at_once_are_those_asked_one_by_one(asked: list[str]) -> None:
    names = Names()
    assert all_unused(asked) == [find_unused(name, names) for name in asked]
