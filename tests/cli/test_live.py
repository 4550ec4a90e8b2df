"""How searches stand, as rows: better news, and certain ones, count."""

from fractions import Fraction

from spmopt.cli.terminal.live import CLAIMED, OF_CLASS, OF_FUSION_PLANS, Live
from spmopt.core.scheduler import Incumbent


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def live(clock: Clock | None = None) -> Live:
    return Live(lambda value: f"{float(value):g} s", clock or Clock())


def test_rows_say_who_is_at_work_and_for_how_long() -> None:
    clock = Clock()
    board = live(clock)
    assert board.rows() == []
    board.add(Incumbent(scheduler="lru"))
    clock.now = 1.5
    board.add(Incumbent(scheduler="lru", value=120, verified=True))
    board.add(Incumbent(scheduler="residency"))
    clock.now = 4.0
    assert board.rows() == [("lru", "120 s", "", "", "1.50"), ("residency", "", "", "", "2.50")]
    assert board.notes() == []


def test_claims_are_marked_until_they_are_certain() -> None:
    board = live()
    board.add(Incumbent(scheduler="residency", value=120, verified=True))
    board.add(Incumbent(scheduler="residency", value=110, bound=Fraction(100)))
    assert board.rows()[0][1:4] == ("~110 s", "~100 s", "~+10.0 %")
    assert board.notes() == [CLAIMED]
    board.add(Incumbent(scheduler="residency", value=111, verified=True))
    assert board.rows()[0][1:4] == ("111 s", "~100 s", "~+11.0 %")
    board.add(Incumbent(scheduler="residency", bound=99, certified=True))
    assert board.rows()[0][1:4] == ("111 s", "99 s", "+12.1 %")
    assert board.notes() == []


def test_worse_news_change_nothing() -> None:
    board = live()
    board.add(Incumbent(scheduler="residency", value=100, bound=90))
    board.add(Incumbent(scheduler="residency", value=105, bound=80))
    assert board.rows()[0][1:3] == ("~100 s", "~90 s")
    board.add(Incumbent(scheduler="residency", value=101, bound=85, verified=True, certified=True))
    board.add(Incumbent(scheduler="residency", value=103, bound=84, verified=True, certified=True))
    assert board.rows()[0][1:3] == ("101 s", "85 s")


def test_the_bound_is_one_for_all_in_the_listed_order() -> None:
    board = live()
    board.add(Incumbent(scheduler="lru", value=120, verified=True))
    board.add(Incumbent(scheduler="tsai", value=90, verified=True, other_order=True))
    board.add(Incumbent(scheduler="fluid", bound=100, certified=True))
    bounds = {row[0]: row[2:4] for row in board.rows()}
    assert bounds == {
        "lru": ("100 s", "+20.0 %"),
        "tsai": ("", ""),
        "fluid": ("100 s", ""),
    }


def test_the_bound_of_a_class_is_said_to_be_one() -> None:
    board = live()
    board.add(Incumbent(scheduler="residency", bound=100))
    board.add(Incumbent(scheduler="whole", value=120, bound=110, of_class=True))
    board.add(Incumbent(scheduler="whole", bound=109, of_class=True))
    page, whole = board.rows()
    assert page[2] == "~100 s"
    assert whole[2:4] == ("~110 s*", "~+9.09 %")
    assert board.notes() == [CLAIMED, OF_CLASS]
    board.add(Incumbent(scheduler="whole", bound=101, certified=True))
    assert board.rows()[1][2] == "101 s"


def test_a_bound_of_nothing_gives_no_gap() -> None:
    board = live()
    board.add(Incumbent(scheduler="residency", value=1, bound=0))
    assert board.rows()[0][2:4] == ("~0 s", "")


def test_who_chooses_a_fusion_plan_is_held_against_all_fusion_plans() -> None:
    board = live()
    board.add(Incumbent(scheduler="residency", value=100, bound=99, certified=True, verified=True))
    board.add(Incumbent(scheduler="fusion", of_fusion_plans=True))
    board.add(Incumbent(scheduler="fusion", of_fusion_plans=True, value=60, verified=True))
    board.add(Incumbent(scheduler="fusion", of_fusion_plans=True, bound=40))
    board.add(Incumbent(scheduler="fusion", of_fusion_plans=True, bound=50))
    page, fusion = board.rows()
    assert page[1:4] == ("100 s", "99 s", "+1.01 %")
    assert fusion[1:4] == ("60 s", "~50 s^", "~+20.0 %")
    assert OF_FUSION_PLANS in board.notes()
    board.add(
        Incumbent(
            scheduler="belady on the fusion plan", of_fusion_plans=True, value=70, verified=True
        )
    )
    assert board.rows()[2][1:4] == ("70 s", "", "")
