"""A Chromium without a screen: it reaches this machine only, and keeps what pages complain of and ask for."""

import json
import os
import shutil
from base64 import b64decode
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Self
from urllib.parse import urlsplit

from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.chrome.webdriver import WebDriver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

from tests.patience import PATIENCE, wait_for

#: Widths of a phone, a tablet and a desk, in pixels.
WIDTHS = (375, 768, 1300)
#: The schemes of colours that a page is asked for.
SCHEMES = ("light", "dark")
#: The rules of the Web Content Accessibility Guidelines, of the levels A and AA.
_RULES = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa")
_OWN = ("about", "blob", "chrome", "data")
_ARGUMENTS = (
    "--headless=new",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
    "--disable-background-networking", "--disable-breakpad", "--disable-component-update", "--disable-sync",
    "--disable-default-apps", "--disable-dev-shm-usage", "--disable-gpu", "--no-first-run", "--no-pings",
    "--hide-scrollbars", "--force-color-profile=srgb", "--lang=en-GB",
)  # fmt: skip
#: Keeps what a page's policy of contents stopped, for the page's own life.
_LISTENER = """
globalThis.stopped = [];
addEventListener("securitypolicyviolation", (event) => globalThis.stopped.push(
  `${event.effectiveDirective} ${event.blockedURI} ${event.sourceFile}:${event.lineNumber} ${event.sample}`));
"""


class BrowserError(Exception):
    """There is no browser, or a page threw."""


class Browser:
    """A started Chromium with one tab. Hosts other than this machine have no address in it."""

    def __init__(self) -> None:
        programs = [shutil.which(name) for name in ("chromium", "chromedriver")]
        if None in programs:
            raise BrowserError("needs chromium and its driver (on Debian: apt-get install chromium-driver)")
        self._home = TemporaryDirectory(prefix="scentline-browser-", ignore_cleanup_errors=True)
        options = Options()
        options.binary_location = str(programs[0])
        # One picture is as the next: no scroll bars, and a screen's colours.
        for argument in (*_ARGUMENTS, f"--user-data-dir={self._home.name}/profile"):
            options.add_argument(argument)
        if os.geteuid() == 0:
            options.add_argument("--no-sandbox")  # Chromium has none for root
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        service = Service(str(programs[1]), env={**os.environ, "HOME": self._home.name})
        self.driver = WebDriver(options, service)
        self.driver.set_page_load_timeout(PATIENCE)
        self.driver.set_script_timeout(PATIENCE)
        self._tell("Page.addScriptToEvaluateOnNewDocument", source=_LISTENER)
        # Else keys are lost where another window, of another test, has the focus.
        self._tell("Emulation.setFocusEmulationEnabled", enabled=True)
        self._errors: list[str] = []
        self._asked: list[str] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.driver.quit()
        self._home.cleanup()

    def _tell(self, method: str, **parameters: object) -> dict[str, Any]:
        found: dict[str, Any] = self.driver.execute_cdp_cmd(method, parameters)
        return found

    def look(self, width: int, scheme: str = "light", height: int = 900) -> None:
        """Take a window's size, in pixels, and a scheme of colours; below 600 pixels it is a phone."""
        self._tell(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
            mobile=width < 600,
        )  # fmt: skip
        preferred = {"prefers-color-scheme": scheme, "prefers-reduced-motion": "reduce"}
        features = [{"name": name, "value": value} for name, value in preferred.items()]
        self._tell("Emulation.setEmulatedMedia", features=features)

    def open(self, address: str) -> None:
        """Open an address, and wait until it is loaded; what the last page complained of is kept."""
        self.gather()
        self.driver.get(address)

    def run(self, expression: str) -> Any:
        """Return what a JavaScript expression comes to in the page, awaited; BrowserError where it throws."""
        found = self._tell(
            "Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True,
            allowUnsafeEvalBlockedByCSP=False,
        )  # fmt: skip
        if "exceptionDetails" in found:
            raise BrowserError(json.dumps(found["exceptionDetails"].get("exception", {}).get("description")))
        return found["result"].get("value")

    def wait(self, expression: str) -> None:
        """Wait until a JavaScript expression holds in the page."""
        wait_for(expression, lambda: bool(self.run(expression)), 0.1)

    def click_corner(self) -> None:
        """Click on the page where nothing is: it has the keyboard then."""
        for kind in ("mousePressed", "mouseReleased"):
            self._tell("Input.dispatchMouseEvent", type=kind, x=1, y=1, button="left", clickCount=1)

    def press(self, *keys: str) -> None:
        """Press keys one after another, as a keyboard does: whatever has the focus gets them."""
        ActionChains(self.driver).send_keys(*keys).perform()

    def write(self, text: str) -> None:
        """Write with the keyboard in place of all that the field with the focus holds."""
        keys = ActionChains(self.driver).key_down(Keys.CONTROL).send_keys("a").key_up(Keys.CONTROL)
        keys.send_keys(text).perform()

    def gather(self) -> None:
        """Take in what the browser and the page have logged since."""
        logged, sent = (self.driver.get_log(name) for name in ("browser", "performance"))  # type: ignore[no-untyped-call]
        self._errors += [entry["message"] for entry in logged if entry["level"] in ("SEVERE", "WARNING")]
        self._errors += self.run("(globalThis.stopped ?? []).splice(0)")
        messages = (json.loads(entry["message"])["message"] for entry in sent)
        asked = [each["params"] for each in messages if each["method"] == "Network.requestWillBeSent"]
        self._asked += [each["request"]["url"] for each in asked]

    def complaints(self) -> list[str]:
        """Return, and forget, the errors of the console and what the policies of contents stopped."""
        self.gather()
        found, self._errors = self._errors, []
        return found

    def asked(self) -> list[str]:
        """Return, and forget, the addresses that pages asked for; not what they and the browser hold."""
        self.gather()
        found, self._asked = self._asked, []
        return [address for address in found if urlsplit(address).scheme not in _OWN]

    def overflow(self) -> int:
        """Return by how many pixels the document is wider than the window."""
        return int(self.run("document.documentElement.scrollWidth - document.documentElement.clientWidth"))

    def barriers(self) -> list[str]:
        """Return what keeps somebody from reading or using the page, as axe finds it: rule, element and why."""
        if not self.run("Boolean(globalThis.axe)"):
            self.run((files("selenium_axe_python") / "axe-core" / "axe.min.js").read_text("utf-8") + ";0")
        only = json.dumps({"runOnly": {"type": "tag", "values": _RULES}, "resultTypes": ["violations"]})
        return [
            f"{violation['id']}: {node['html'][:200]}: {' '.join(node['failureSummary'].split())}"
            for violation in self.run(f"axe.run(document, {only}).then((found) => found.violations)")
            for node in violation["nodes"]
        ]

    def picture(self, path: Path) -> None:
        """Write a PNG of the window."""
        path.write_bytes(b64decode(self._tell("Page.captureScreenshot", format="png")["data"]))
