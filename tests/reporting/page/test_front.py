"""The page of a search: what it holds, and that names stay text."""

import json

from spmopt.reporting.page.front import TrialCommands, front_page
from spmopt.reporting.search.front import front_record
from tests.reporting.page.reading import Document
from tests.reporting.search.fronts import front

ODD = "</script><img src=x onerror=alert(1)>\"'&🙂"


def test_the_page_holds_the_record_and_commands() -> None:
    commands = TrialCommands(trial=0, network=ODD, commands=("spmopt tune show", "spmopt report"))
    document = Document.of(front_page(front(ODD), [commands]))
    blocks = document.blocks()
    assert blocks["front"] == json.loads(json.dumps(front_record(front(ODD))))
    assert blocks["commands"]["schedules"] == [
        {"trial": 0, "network": ODD, "commands": ["spmopt tune show", "spmopt report"]}
    ]
    assert not document.all("img")


def test_every_id_that_scripts_ask_for_is_there() -> None:
    document = Document.of(front_page(front()))
    known = [
        element.attributes["id"] for element in document.elements if "id" in element.attributes
    ]
    assert {"about", "axes", "front", "marks", "missing", "trial", "trials"} <= {*known}
    assert {"shares", "shares-section", "duals", "dual values-section"} <= {*known}
    assert len(known) == len({*known})
