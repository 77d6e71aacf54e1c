"""Reads a page as a browser would: elements by their attributes, forms, visible words."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"meta", "link", "input", "br", "hr", "img"}


@dataclass
class Element:
    tag: str
    attrs: dict[str, str | None]
    parts: list[Element | str] = field(default_factory=list)

    def __bool__(self) -> bool:
        """An element is there, even when it is empty."""
        return True

    @property
    def words(self) -> str:
        """All text inside, white space collapsed."""
        return " ".join("".join(_texts(self)).split())

    def all(self, tag: str = "", **attrs: str | None) -> list[Element]:
        """Descendants by tag and attributes: `data_x` is `data-x`, `class_` one of its classes."""
        return [one for one in _inside(self) if _fits(one, tag, attrs)]

    def one(self, tag: str = "", **attrs: str | None) -> Element:
        found = self.all(tag, **attrs)
        assert len(found) == 1, f"{len(found)} of <{tag}> {attrs}"
        return found[0]

    def fields(self) -> dict[str, str]:
        """What a form would send without pressing a button: inputs, texts, and what is selected."""
        inputs = {
            str(one.attrs["name"]): one.attrs.get("value") or ""
            for one in self.all("input")
            if one.attrs.get("type") != "radio" or "checked" in one.attrs
        }
        areas = {
            str(one.attrs["name"]): "".join(_texts(one)).removeprefix("\n")
            for one in self.all("textarea")
        }
        chosen = {
            str(one.attrs["name"]): option.attrs.get("value") or ""
            for one in self.all("select")
            for option in one.all("option")
            if "selected" in option.attrs
        }
        return inputs | areas | chosen


def read(html: str | bytes) -> Element:
    return _Reader(html.decode() if isinstance(html, bytes) else html).root


class _Reader(HTMLParser):
    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Element("", {})
        self._open = [self.root]
        self.feed(html)
        self.close()
        assert self._open == [self.root], f"not closed: {[one.tag for one in self._open[1:]]}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, dict(attrs))
        self._open[-1].parts.append(element)
        if tag not in VOID:
            self._open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._open[-1].parts.append(Element(tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self._open[-1].tag == tag, f"</{tag}> closes <{self._open[-1].tag}>"
        self._open.pop()

    def handle_data(self, data: str) -> None:
        self._open[-1].parts.append(data)


def _inside(element: Element) -> list[Element]:
    found = []
    for part in element.parts:
        if isinstance(part, Element):
            found += [part, *_inside(part)]
    return found


def _texts(element: Element) -> list[str]:
    found: list[str] = []
    for part in element.parts:
        found += [part] if isinstance(part, str) else _texts(part)
    return found


def _fits(element: Element, tag: str, attrs: dict[str, str | None]) -> bool:
    if tag and element.tag != tag:
        return False
    for name, wanted in attrs.items():
        if name == "class_":
            if wanted not in (element.attrs.get("class") or "").split():
                return False
        elif element.attrs.get(name.replace("_", "-"), "\0") != wanted:
            return False
    return True
