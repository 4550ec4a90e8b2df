"""The page of a sweep: what it holds, and that names stay text."""

from spmopt.reporting.curves import curves_record
from spmopt.reporting.page.curves import curves_page
from spmopt.reporting.palette import COLORS
from tests.reporting.curves.rows import curves, relaxed, schedule
from tests.reporting.page.reading import Document

ODD = "</script><img src=x onerror=alert(1)>\"'&🙂 $x^2$"


def test_the_page_holds_the_record() -> None:
    found = curves(relaxed(1.0, 0.9), schedule("residency", 1.2, 0.9))
    blocks = Document.of(curves_page(found)).blocks()
    assert blocks == {"curves": curves_record(found), "look": {"series": list(COLORS)}}


def test_names_stay_text() -> None:
    rows = [schedule(ODD, 1.2, 0.9, network=name, note=ODD) for name in (ODD, "n" * 1000)]
    document = Document.of(curves_page(curves(*rows)))
    assert not document.all("img")
    assert document.blocks()["curves"]["rows"]["note"] == [ODD, ODD]
    ((_, title),) = document.all("title")
    assert title.startswith(ODD)


def test_every_id_that_scripts_ask_for_is_there() -> None:
    document = Document.of(curves_page(curves(schedule("page", 1.2, 0.9))))
    known = {element.attributes.get("id") for element in document.elements}
    assert {"remarks", "controls", "legend", "panels", "accounts", "rows", "theme"} <= known
