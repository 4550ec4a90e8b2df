"""A page in Chromium, as a reader has it: pointer, keys, and what is to be seen."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from selenium.webdriver import Chrome
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.wait import WebDriverWait

WAIT_S = 60
"""Of a busy machine; nothing waits longer than it must."""
MAP, LANES = "Scratchpad over time", "Lanes over time"
GUTTER = {"left": 84, "right": 12}
"""Pixels beside the plots, on wide pages."""
MAP_HEAD, MAP_FOOT = 20, 4
_WATCH = """
window.drawnAt = {};
new MutationObserver(() => {
  const stage = document.documentElement?.dataset.drawn;
  if (stage) window.drawnAt[stage] ??= performance.now();
}).observe(document, {attributes: true, subtree: true, attributeFilter: ["data-drawn"]});
"""


class Screen:
    """One browser for all tests."""

    def __init__(self, driver: Chrome) -> None:
        self.driver = driver
        driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": _WATCH})

    def open(self, path: Path, *, width: int = 1280, height: int = 900) -> None:
        """Open a file in a window of this size, and wait until all is drawn."""
        self.driver.get("about:blank")
        self.problems()
        self.cdp(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        self.cdp("Emulation.setEmulatedMedia", features=[])
        self.driver.get(path.as_uri())
        self.until("return document.documentElement.dataset.drawn === 'all'")

    def cdp(self, command: str, **options: object) -> Any:
        """A command of the DevTools protocol."""
        return self.driver.execute_cdp_cmd(command, options)

    def run(self, script: str, *values: object) -> Any:
        """Run JavaScript in the page."""
        return self.driver.execute_script(script, *values)

    def until(self, script: str, *values: object) -> Any:
        """Wait for a script that returns what is true, and give that."""
        return WebDriverWait(self.driver, WAIT_S, 0.02).until(lambda _: self.run(script, *values))

    def settle(self, milliseconds: int = 250) -> None:
        """Wait until what has been asked for is drawn, and sharp again."""
        self.driver.execute_async_script("setTimeout(arguments[1], arguments[0])", milliseconds)

    def frames(self) -> None:
        """Wait for two frames: until what the pointer or a scroll has brought about is done."""
        self.driver.execute_async_script(
            "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(done))"
        )

    def find(self, css: str) -> WebElement:
        return self.driver.find_element(By.CSS_SELECTOR, css)

    def all(self, css: str) -> list[WebElement]:
        return self.driver.find_elements(By.CSS_SELECTOR, css)

    def text(self, css: str) -> str:
        """Text of an element, shown or not."""
        found: str = self.run("return document.querySelector(arguments[0]).textContent", css)
        return found

    def texts(self, css: str) -> list[str]:
        """Texts of all such elements."""
        script = "return [...document.querySelectorAll(arguments[0])].map((e) => e.textContent)"
        found: list[str] = self.run(script, css)
        return found

    def click(self, css: str, place: int = 0) -> None:
        """Click an element once it is in the middle of the window."""
        target = self.all(css)[place]
        self.run("arguments[0].scrollIntoView({block: 'center'})", target)
        ActionChains(self.driver, duration=0).move_to_element(target).click().perform()

    def canvas(self, label: str) -> WebElement:
        """The picture whose label begins so, in the middle of the window."""
        found = self.find(f"canvas[aria-label^='{label}']")
        self.run("arguments[0].scrollIntoView({block: 'center'})", found)
        return found

    def point(self, label: str, part: float, down: float) -> tuple[float, float]:
        """Place in the window at a part of the time and so many pixels down a picture."""
        picture = self.canvas(label)
        self.frames()
        box = self.run("return arguments[0].getBoundingClientRect().toJSON()", picture)
        width = box["width"] - GUTTER["left"] - GUTTER["right"]
        return box["left"] + GUTTER["left"] + part * width, box["top"] + down

    def lane(self, name: str, place: int = 0) -> float:
        """Pixels from the top of the lanes of a schedule to the middle of one."""
        middle: float = self.run(
            "const { lanes } = document.querySelectorAll('.stage')[arguments[1]].stage.lanes;"
            "const lane = lanes.find(({ name }) => name === arguments[0]);"
            "return lane.top + lane.height / 2",
            name,
            place,
        )
        return middle

    def hover(self, label: str, part: float, down: float) -> str:
        """What is said where the pointer rests."""
        x, y = self.point(label, part, down)
        self.mouse("mouseMoved", x, y)
        self.frames()
        shown: str = self.run(
            "const t = document.getElementById('tip'); return t.hidden ? '' : "
            "[...t.children].map((e) => e.textContent).join('\\n')"
        )
        return shown

    def press(self, label: str, part: float, down: float) -> None:
        """Click at a place of a picture."""
        self.drag(label, (part, part), down)

    def drag(
        self, label: str, parts: tuple[float, float], down: float, *, shift: bool = False
    ) -> None:
        """Drag from one part of the time to another."""
        keys = 8 if shift else 0
        (x, y), (to, _) = (self.point(label, part, down) for part in parts)
        self.mouse("mouseMoved", x, y)
        self.mouse("mousePressed", x, y, button="left", clickCount=1, modifiers=keys)
        if to != x:
            for place in (x + (to - x) / 2, to):
                self.mouse("mouseMoved", place, y, button="left", buttons=1, modifiers=keys)
        self.mouse("mouseReleased", to, y, button="left", clickCount=1, modifiers=keys)
        self.frames()

    def mouse(self, kind: str, x: float, y: float, **options: object) -> None:
        self.cdp("Input.dispatchMouseEvent", type=kind, x=x, y=y, **options)

    def view(self) -> tuple[float, float]:
        """The cycles in view."""
        self.frames()
        low, high = self.run(
            "const { axis } = document.querySelector('.stage').stage; return [axis.from, axis.to]"
        )
        return low, high

    def _log(self, kind: str) -> list[dict[str, Any]]:
        """Entries since the last time."""
        found: list[dict[str, Any]] = self.driver.execute("getLog", {"type": kind})["value"]
        return found

    def problems(self) -> list[str]:
        """Messages of the console, and requests for anything but the page itself."""
        found = [entry["message"] for entry in self._log("browser")]
        for entry in self._log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                url = message["params"]["request"]["url"]
                if not url.startswith(("file:", "about:", "data:", "blob:")):
                    found.append(f"request of {url}")
        return found
