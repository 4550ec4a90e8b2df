"""Pages of any content: one file, nothing from elsewhere, names as text."""

import re
from base64 import b64encode
from hashlib import sha256
from importlib.resources import files

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spmopt.reporting.page.schedule import SCRIPTS
from spmopt.reporting.page.shell import html, source
from spmopt.reporting.tables import visible
from tests.reporting.page.reading import Document

HOSTILE = (
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "\"quoted\" & 'so' &lt;b&gt;",
    "{{script}} {{nothing}} \\1",
    "🧮 ünïcode \u2028 \u202e",
    "n" * 1000,
    "",
)
_FOLDER = files("spmopt.reporting.page")
_FILES = [
    *(f"scripts/{name}.js" for name in SCRIPTS),
    *(f"styles/{entry.name}" for entry in (_FOLDER / "styles").iterdir()),
]


def made(text: str) -> Document:
    blocks = {"names": {"name": text, text: [1, None, 2.5]}}
    return Document.of(
        html(title=text, subtitle=text, body="<p>x</p>", scripts=("base",), blocks=blocks)
    )


@pytest.mark.parametrize("text", HOSTILE)
def test_names_stay_text(text: str) -> None:
    document, plain = made(text), made("plain")
    assert [element.tag for element in document.elements] == [e.tag for e in plain.elements]
    assert document.blocks() == {"names": {"name": text, text: [1, None, 2.5]}}
    (heading,) = document.all("h1")
    assert heading[1] == visible(text)


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\0"), max_size=40))
def test_any_text_comes_back(text: str) -> None:
    document = made(text)
    assert document.blocks()["names"]["name"] == text
    assert [found for _, found in document.all("h1")] == [visible(text)]


def test_the_policy_allows_what_the_page_has_and_no_network() -> None:
    document = made("x")
    (policy,) = (
        str(attributes["content"])
        for attributes, _ in document.all("meta")
        if attributes.get("http-equiv") == "Content-Security-Policy"
    )
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    assert rules["default-src"] == "'none'"
    (style,) = (text for _, text in document.all("style"))
    (script,) = (text for attributes, text in document.all("script") if "type" not in attributes)
    for name, text in (("style-src", style), ("script-src", script)):
        digest = b64encode(sha256(text.encode()).digest()).decode()
        assert rules[name] == f"'sha256-{digest}'"
    assert not {"connect-src", "font-src", "frame-src", "object-src"} & {*rules}


def test_the_page_refers_to_nothing_outside() -> None:
    for element in made("x").elements:
        assert not {"src", "srcset", "action", "data", "style"} & {*element.attributes}
        assert str(element.attributes.get("href", "#")).startswith(("#", "data:,"))


@pytest.mark.parametrize("name", _FILES)
def test_sources_neither_parse_names_nor_load_anything(name: str) -> None:
    text = source(name).replace("http://www.w3.org/2000/svg", "")  # a name, not a place
    found = re.findall(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|\bfetch\b"
        r"|XMLHttpRequest|WebSocket|sendBeacon|\bimport\b|url\(|https?:",
        text,
    )
    assert found == []
    assert len(text.splitlines()) < 300
    assert "</script" not in text


def test_parts_of_a_script_share_no_name() -> None:
    """They are one function: a second function of a name would silently take the first's place."""
    names = [
        name
        for script in SCRIPTS
        for name in re.findall(
            r"^(?:async )?(?:function|class|const|let) (\w+)", source(f"scripts/{script}.js"), re.M
        )
    ]
    assert len(names) > 100
    assert sorted(names) == sorted({*names})


def test_the_same_page_has_the_same_bytes() -> None:
    blocks = {"a": {"x": [*range(1000)]}}
    first, second = (
        html(title="t", subtitle="", body="<p>x</p>", scripts=SCRIPTS, blocks=blocks)
        for _ in range(2)
    )
    assert first == second
