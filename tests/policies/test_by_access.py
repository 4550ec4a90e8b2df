"""Rules that count accesses: the static choice, and least frequently used."""

from __future__ import annotations

import numpy as np

from spmopt.core.instance import Instance
from spmopt.core.schedule import Plan
from spmopt.core.timeline import listed_timeline
from spmopt.policies.frequency import (
    HALF_LIFE,
    accesses_in_all,
    accesses_so_far,
    fading,
    fading_accesses,
    planned,
    rarity,
)
from spmopt.policies.residency.ranked import keep_by_rank
from spmopt.policies.static import chosen, kept, nothing_kept, saved_bytes
from tests.assemble.small import Op, data, made, problem, rows_of, stores_of
from tests.policies.owed import totals
from tests.strategies import random_instance


def traffic(instance: Instance, plan: Plan) -> int:
    return totals(instance, plan).traffic_bytes


def static_choice(instance: Instance, pages: int | None = None) -> list[str]:
    machine = instance.machine
    room = machine.spm_pages if pages is None else pages
    keep = chosen(listed_timeline(instance), machine.page_bytes, room)
    return [name for name, kept in zip(instance.tensor_names, keep, strict=True) if kept]


def static_plan(instance: Instance) -> Plan:
    steps = listed_timeline(instance)
    machine = instance.machine
    return kept(steps, chosen(steps, machine.page_bytes, machine.spm_pages))


def test_what_being_resident_saves() -> None:
    instance = problem(
        {"w": data(3), "once": data(5), "y": made(2), "z": made(2, keep=True), "u": data(4)},
        [
            Op(reads=["w", "once"], writes=["y"], passes={"w": 2}),
            Op(reads=["w", "y"], writes=["z"], stationary=["w"], passes={"z": 3}),
            Op(reads=["y", "u"], writes=["u"]),
            Op(reads=["u"]),
        ],
    )
    # w: 2 passes and a load, against one load. y: out once, in twice. z: 3 out and 2 in, against
    # one store. u: in, out and in, against one load, as nothing needs its last contents.
    steps = listed_timeline(instance)
    assert saved_bytes(steps).tolist() == [3 * 2, 0, 2 * 3, 2 * 4, 4 * 2]


def test_static_keeps_the_most_saved_bytes_for_a_byte() -> None:
    instance = problem(
        {"a": data(4), "b": data(6), "c": data(2)},
        [Op(reads=[name]) for name in "abcabcab" + "a"],
        spm=8,
    )
    # Saved per byte: 3 for a, 2 for b, 1 for c; b does not fit beside a.
    assert static_choice(instance) == ["a", "c"]
    plan = static_plan(instance)
    assert rows_of(instance, plan.residency) == [("a", 0, 9, 4), ("c", 2, 6, 2)]
    assert traffic(instance, plan) == 4 + 3 * 6 + 2


def test_static_rooms_are_not_shared_though_the_uses_are_far_apart() -> None:
    instance = problem({"a": data(4), "b": data(4)}, [Op(reads=[name]) for name in "aaabb"], spm=7)
    assert static_choice(instance) == ["a"]


def test_what_is_stationary_twice_running_seems_to_save_more_than_it_does() -> None:
    instance = problem({"w": data(3)}, [Op(reads=["w"], stationary=["w"])] * 2)
    steps = listed_timeline(instance)
    assert saved_bytes(steps).tolist() == [3]
    # It stays between its two steps although it was not chosen.
    assert traffic(instance, nothing_kept(steps)) == 3


def test_static_leaves_room_for_scratch_and_other_stationary_operands() -> None:
    instance = problem(
        {"a": data(4), "w": data(5), "v": data(2)},
        [Op(reads=["a", "w"], stationary=["w"]), Op(reads=["a", "v"], scratch=1), Op(reads=["v"])],
        spm=9,
    )
    # w passes through in step 0 and saves nothing by staying; v no longer fits beside both.
    assert static_choice(instance) == ["a"]
    assert rows_of(instance, static_plan(instance).residency) == [("a", 0, 2, 4), ("w", 0, 1, 5)]
    assert static_choice(instance, pages=8) == ["v"]


def test_a_chosen_stationary_operand_needs_no_second_room() -> None:
    read = Op(reads=["w", "a"], stationary=["w"])
    instance = problem({"w": data(5), "a": data(3)}, [read, Op(), read], spm=8)
    assert static_choice(instance) == ["w", "a"]
    assert traffic(instance, static_plan(instance)) == 5 + 3


def test_static_stores_last_contents_after_the_last_use() -> None:
    instance = problem(
        {"y": made(3, keep=True)}, [Op(writes=["y"]), Op(), Op(reads=["y"]), Op()], spm=4
    )
    plan = static_plan(instance)
    assert stores_of(instance, plan.stores) == [(2, "y", 3)]
    assert rows_of(instance, plan.residency) == [("y", 0, 3, 3)]


def test_static_saves_what_it_says_it_does() -> None:
    for seed in range(60):
        instance = random_instance(
            seed, max_operations=15, max_tensors=8, max_operands=4, stationary=False
        )
        steps = listed_timeline(instance)
        keep = chosen(steps, instance.machine.page_bytes, instance.machine.spm_pages)
        saved = traffic(instance, nothing_kept(steps)) - traffic(instance, kept(steps, keep))
        assert saved == saved_bytes(steps)[keep].sum()


def test_accesses_are_counted_whether_resident_or_not() -> None:
    instance = problem({"a": data(9), "b": data(1)}, [Op(reads=["a", "b"]), Op(reads=["a"])], spm=4)
    assert accesses_so_far(listed_timeline(instance)).tolist() == [1, 1, 2]


def test_rarity_orders_by_count_then_by_recency() -> None:
    instance = problem(
        {name: data(1) for name in "abc"}, [Op(reads=[name]) for name in "abacb"], spm=4
    )
    ranking = rarity(listed_timeline(instance))
    # First to go: a (1, step 0), b (1, step 1), c (1, step 3), a (2, step 2), b (2, step 4).
    assert np.argsort(-ranking.after).tolist() == [0, 1, 3, 2, 4]
    assert ranking.now.tolist() == [0] * 5
    assert ranking.after.min() == 1


def test_frequency_evicts_the_least_often_used_even_if_it_was_used_last() -> None:
    instance = problem(
        {name: data(4) for name in "abc"}, [Op(reads=[name]) for name in "aabcba"], spm=8
    )
    steps = listed_timeline(instance)
    # c displaces b (once) and not a (twice), though a is older; b then displaces nothing: c is
    # done.
    assert rows_of(instance, keep_by_rank(instance, steps, rarity(steps)).residency) == [
        ("a", 0, 6, 4),
        ("b", 2, 3, 4),
        ("b", 4, 5, 4),
        ("c", 3, 4, 4),
    ]


def test_accesses_fade() -> None:
    """Against the sum that the logarithm stands for, at every step from the access on."""
    for seed in range(20):
        steps = listed_timeline(random_instance(seed, max_operations=30, max_tensors=6))
        found = fading_accesses(steps)
        for access, step in enumerate(steps.step.tolist()):
            same = (steps.tensor == steps.tensor[access]) & (steps.step <= step)
            ages = step - steps.step[same]
            assert np.isclose(
                2 ** (found[access] - step / HALF_LIFE), (0.5 ** (ages / HALF_LIFE)).sum()
            )


def test_what_was_used_often_long_ago_goes_first_where_accesses_fade() -> None:
    late = 4 * HALF_LIFE
    trace = "aaa" + "." * late + "bcab"
    operations = [Op() if name == "." else Op(reads=[name]) for name in trace]
    instance = problem({name: data(4) for name in "abc"}, operations, spm=8)
    steps = listed_timeline(instance)
    # c takes the room of b, used once, or of a, whose three accesses are worth 3 / 16 by then.
    last = len(trace) - 1
    by_count = keep_by_rank(instance, steps, rarity(steps)).residency
    assert ("a", 0, last, 4) in rows_of(instance, by_count)
    faded = rows_of(instance, keep_by_rank(instance, steps, fading(steps)).residency)
    assert ("b", 3 + late, last + 1, 4) in faded
    assert ("a", 0, 4 + late, 4) in faded


def test_what_is_used_more_often_in_all_is_not_displaced() -> None:
    instance = problem(
        {name: data(4) for name in "abc"}, [Op(reads=[name]) for name in "abcabab" + "c"], spm=8
    )
    steps = listed_timeline(instance)
    assert accesses_in_all(steps).tolist() == [3, 3, 2, 3, 3, 3, 3, 2]
    # c, used twice, waits until a has had its last use; a and b, used as often, do not displace.
    assert rows_of(instance, keep_by_rank(instance, steps, planned(steps)).residency) == [
        ("a", 0, 6, 4),
        ("b", 1, 7, 4),
        ("c", 7, 8, 4),
    ]
    rare = problem(
        {name: data(4) for name in "abc"}, [Op(reads=[name]) for name in "cabababc"], spm=8
    )
    steps = listed_timeline(rare)
    # c goes as soon as what is used more often needs its room.
    assert rows_of(rare, keep_by_rank(rare, steps, planned(steps)).residency) == [
        ("a", 1, 6, 4),
        ("b", 2, 7, 4),
        ("c", 0, 2, 4),
        ("c", 7, 8, 4),
    ]
