"""HTML as a notebook gets it: well-formed, without scripts; its texts."""

from __future__ import annotations

from html.parser import HTMLParser

ALLOWED = {"p", "table", "thead", "tbody", "tr", "th", "td", "img"}
_ALONE = {"img"}


class Page(HTMLParser):
    """Texts of paragraphs, and of each table the cells, row by row."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.paragraphs: list[str] = []
        self.tables: list[list[list[str]]] = []
        self.images: list[dict[str, str | None]] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in ALLOWED
        assert {name for name, _ in attrs} <= {"style", "src", "alt"}
        if tag == "img":
            self.images.append(dict(attrs))
        if tag in _ALONE:
            return
        self.open.append(tag)
        match tag:
            case "p":
                self.paragraphs.append("")
            case "table":
                self.tables.append([])
            case "tr":
                self.tables[-1].append([])
            case "th" | "td":
                self.tables[-1][-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "p":
            self.paragraphs[-1] += data
        elif self.open and self.open[-1] in ("th", "td"):
            self.tables[-1][-1][-1] += data
        else:
            assert not data.strip()
