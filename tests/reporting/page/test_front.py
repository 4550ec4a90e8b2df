"""The page of a search: what it holds, and which schedules find room."""

import json
from collections.abc import Mapping

from spmopt.reporting.page.front import TrialSchedule, front_page
from spmopt.reporting.search.front import front_record
from tests.reporting.page.reading import Document
from tests.reporting.search.fronts import front

ODD = "</script><img src=x onerror=alert(1)>\"'&🙂"
MADE: Mapping[str, object] = {"title": ODD, "tables": {}, "roofline": {}, "explained": {}}


def shown(trial: int, *, made: bool = True) -> TrialSchedule:
    return TrialSchedule(
        trial=trial,
        network=ODD,
        commands=("spmopt tune show", "spmopt report"),
        record=(lambda: MADE) if made else None,
    )


def test_the_page_holds_the_record_and_schedules() -> None:
    found = front(ODD)
    document = Document.of(front_page(found, [shown(0), shown(1, made=False)]))
    blocks = document.blocks()
    assert blocks["front"] == json.loads(json.dumps(front_record(found)))
    one, other = blocks["opened"]["schedules"]
    assert (one["trial"], one["network"], one["block"]) == (0, ODD, "schedule-0")
    assert (other["trial"], other["block"]) == (1, None)
    assert other["commands"] == ["spmopt tune show", "spmopt report"]
    assert blocks["schedule-0-view"] | blocks["schedule-0-tables"] == MADE
    assert not document.all("img")


def test_schedules_beyond_the_room_are_left_out() -> None:
    whole = Document.of(front_page(front(), [shown(0), shown(1)])).blocks()
    assert {"schedule-0-view", "schedule-1-view"} <= {*whole}
    packed = front_page(front(), [shown(0), shown(1), shown(0)], room=250)
    found = [each["block"] for each in Document.of(packed).blocks()["opened"]["schedules"]]
    assert found == ["schedule-0", None, None]
    assert "schedule-1-view" not in Document.of(packed).blocks()


def test_every_id_that_scripts_ask_for_is_there() -> None:
    document = Document.of(front_page(front()))
    known = [
        element.attributes["id"] for element in document.elements if "id" in element.attributes
    ]
    assert {"about", "axes", "front", "marks", "missing", "trial", "trials", "shares"} <= {*known}
    assert {"prices", "opened", "opened-head", "opened-about", "schedule", "spare"} <= {*known}
    assert len(known) == len({*known})
