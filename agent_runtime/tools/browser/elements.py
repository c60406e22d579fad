"""Finds the elements of a page that can be clicked or filled in. The model refers to an element by its
number.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from agent_runtime.tools.browser.connection import CommandError, Json
from agent_runtime.tools.browser.tab import PageError, PageFrame, Tab
from agent_runtime.workspace.local import PathNotAllowedError, confine

MAX_ELEMENTS = 300
_LIMITS = {"elements": MAX_ELEMENTS, "nodes": 100_000, "styled_nodes": 10_000}
_STALE = (
    "There is no element {index} on the page as it is now. Call browser_get_state, and use a number from "
    "its answer."
)
_PROBLEMS = {
    "gone": "Element {index} is not on the page any more. Call browser_get_state and use the new numbers.",
    "disabled": "Element {index} is disabled: something else has to be done first.",
    "hidden": "Element {index} cannot be seen at present: something else has to be opened or closed first.",
    "read-only": "Element {index} is read-only.",
    "covered": "Element {index} is covered by {cover}. Deal with that first.",
    "no such option": "Element {index} has no such option. browser_get_state lists the options.",
    "not a text field": "Nothing can be typed into element {index}. To press it, use browser_click.",
    "not of its form": "Element {index} takes a {form}, and this is none.",
}
_BUTTON = {"button": "left", "clickCount": 1}
_ENTER = {"key": "Enter", "code": "Enter", "windowsVirtualKeyCode": 13}


@dataclass(frozen=True)
class Element:
    frame: PageFrame
    index: int
    """The element's index in the list of the elements of its frame (the page or an iframe)."""
    name: str


@dataclass(frozen=True)
class PageState:
    """The elements of a page that can be clicked or filled in, with a text for the model that describes them.

    `page`: the result of the script `elements.js`, which runs in the page, for the main document of the page.
    It contains the scroll position (`scroll`) and the HTTP status code of the page (`status`).
    """

    elements: Sequence[Element]
    text: str
    page: Json


async def look(tab: Tab) -> PageState:
    """Returns the elements of the page that can be clicked or filled in, with a text that describes them.
    Raises PageError if the page cannot be read.
    """
    elements: list[Element] = []
    lines: list[str] = []
    page: Json = {}
    for frame in await tab.frames():
        try:
            found = await tab.run(frame, "elements", {**_LIMITS, "elements": MAX_ELEMENTS - len(elements)})
        except CommandError:
            continue  # it is gone, or another page by now
        page = page or found
        lines += _lines(frame, found, first=len(elements))
        elements += [
            Element(frame, position, f'{one["kind"]} "{one["name"]}"')
            for position, one in enumerate(found["elements"])
        ]
    return PageState(elements, "\n".join(lines), page)


async def click(tab: Tab, elements: Sequence[Element], index: int, *, in_new_tab: bool) -> str | None:
    """Clicks an element of the page and returns None. If `in_new_tab` is set and the element is a link, does
    not click, but returns the link's URL, so that the caller can open it in a new tab.

    `index`: the element's index in `elements`. Raises PageError if the element cannot be clicked or no longer
    exists.
    """
    element, handle = await _find(tab, elements, index)
    aim = _checked(await tab.on(element.frame, handle, "aim"), index)
    if in_new_tab and str(aim["href"]).startswith(("http:", "https:", "file:")):
        return str(aim["href"])
    left, top = await tab.offset(element.frame)
    at = {"x": left + aim["x"], "y": top + aim["y"]}
    await tab.call("Input.dispatchMouseEvent", {"type": "mouseMoved", **at})
    await tab.call("Input.dispatchMouseEvent", {"type": "mousePressed", **at, **_BUTTON})
    await tab.call("Input.dispatchMouseEvent", {"type": "mouseReleased", **at, **_BUTTON})
    return None


async def fill(
    tab: Tab, elements: Sequence[Element], index: int, text: str, *, roots: Sequence[Path], base: Path
) -> None:
    """Fills in an input field of the page with `text`. For a field that uploads a file, `text` is the path of
    the file. Raises PageError if the field cannot be filled in or no longer exists.

    `index`: the field's index in `elements`. `roots`: the directories from which files may be uploaded.
    `base`: the directory to which relative file paths refer.
    """
    element, handle = await _find(tab, elements, index)
    ready = _checked(await tab.on(element.frame, handle, "fill", text.removesuffix("\n")), index)
    if ready["how"] == "file":
        params = {"files": [str(_file(base / text.strip(), roots))], "objectId": handle}
        await tab.call("DOM.setFileInputFiles", params, session=element.frame.session)
    elif ready["how"] == "type":
        await _type(tab, text, is_one_line=bool(ready["is_one_line"]))


async def _type(tab: Tab, text: str, *, is_one_line: bool) -> None:
    presses_enter = is_one_line and text.endswith("\n")
    typed = text.removesuffix("\n") if presses_enter else text
    if typed:
        await tab.call("Input.insertText", {"text": typed})
    else:
        await _press(tab, {"key": "Delete", "code": "Delete", "windowsVirtualKeyCode": 46}, "")
    if presses_enter:
        await _press(tab, _ENTER, "\r")


async def _press(tab: Tab, key: Json, text: str) -> None:
    down = {"type": "keyDown", "text": text} if text else {"type": "rawKeyDown"}
    await tab.call("Input.dispatchKeyEvent", {**down, **key})
    await tab.call("Input.dispatchKeyEvent", {"type": "keyUp", **key})


async def _find(tab: Tab, elements: Sequence[Element], index: int) -> tuple[Element, str]:
    if index >= len(elements):
        raise PageError(_STALE.format(index=index))
    element = elements[index]
    handle = await tab.element(element.frame, element.index)
    if handle is None:
        raise PageError(_STALE.format(index=index))
    return element, handle


def _checked(answer: Json, index: int) -> Json:
    problem = answer.get("problem")
    if problem is not None:
        raise PageError(_PROBLEMS[problem].format(index=index, **answer))
    return answer


def _file(path: Path, roots: Sequence[Path]) -> Path:
    try:
        found = confine(str(path), roots)
    except PathNotAllowedError as error:
        raise PageError(f"{path} cannot be handed over: {error}") from error
    if not found.is_file():
        raise PageError(f"There is no file {path}.")
    return found


def _lines(frame: PageFrame, found: Json, first: int) -> Iterator[str]:
    if frame.owner_session is not None and found["elements"]:
        yield f"In a frame of the page ({frame.url[:200]}):"
    for position, element in enumerate(found["elements"]):
        yield f"[{first + position}] {_line(element)}"
    if found["left_out"]:
        yield f"({found['left_out']} more further up or down are left out: scroll to get them.)"
    if found["is_cut"]:
        yield "(The page is too large to be looked at as a whole.)"


def _line(element: Json) -> str:
    parts = [element["kind"], f'"{element["name"]}"']
    if element.get("value"):
        parts.append(f'= "{element["value"]}"')
    elif element.get("placeholder") and element["placeholder"] != element["name"]:
        parts.append(f'(hint: "{element["placeholder"]}")')
    if element.get("href"):
        parts.append(f"-> {element['href']}")
    if element.get("options"):
        more = f" and {element['more_options']} more" if element["more_options"] else ""
        parts.append(f"options: {' | '.join(element['options'])}{more}")
    marks = [*element["flags"], *([f"{element['where']} the view"] if element["where"] else [])]
    return " ".join(parts) + (f" ({', '.join(marks)})" if marks else "")
