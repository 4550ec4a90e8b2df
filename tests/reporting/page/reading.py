"""Reading a page as a browser does, but for its scripts."""

from __future__ import annotations

import gzip
import json
from base64 import b64decode
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Element:
    tag: str
    attributes: dict[str, str | None]


@dataclass(kw_only=True)
class Document(HTMLParser):
    """Elements of a page, and the text in each, by its place, before the first end of one."""

    elements: list[Element] = field(default_factory=list)
    texts: dict[int, str] = field(default_factory=dict)
    inside: bool = False

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)

    @classmethod
    def of(cls, text: str) -> Document:
        document = cls()
        document.feed(text)
        document.close()
        return document

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(Element(tag=tag, attributes=dict(attrs)))
        self.inside = True

    def handle_endtag(self, tag: str) -> None:
        self.inside = False

    def handle_data(self, data: str) -> None:
        if self.inside:
            place = len(self.elements) - 1
            self.texts[place] = self.texts.get(place, "") + data

    def all(self, tag: str) -> list[tuple[dict[str, str | None], str]]:
        """Attributes and text of all elements of a tag."""
        return [
            (element.attributes, self.texts.get(place, ""))
            for place, element in enumerate(self.elements)
            if element.tag == tag
        ]

    def blocks(self) -> dict[str, Any]:
        """The data of the page."""
        return {
            str(attributes["id"]).removeprefix("data-"): json.loads(
                gzip.decompress(b64decode(text))
            )
            for attributes, text in self.all("script")
            if attributes.get("type") == "application/gzip"
        }
