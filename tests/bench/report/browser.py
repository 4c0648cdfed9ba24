"""A real browser without a screen, driven over a pipe by the DevTools protocol: nothing to install but the browser."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Any, Self

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")


def find_browser() -> str | None:
    """Return the path of a browser; None where there is none."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Browser:
    """One page in one browser.

    Attributes:
        problems: errors that scripts or the console reported.
        requests: addresses that were asked for.
    """

    def __init__(self, binary: str, profile: Path) -> None:
        """Start the browser with an empty profile."""
        self.problems: list[str] = []
        self.requests: list[str] = []
        self._next = 0
        self._page: str | None = None
        ours, theirs = os.pipe(), os.pipe()
        flags = ["--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", "--no-first-run"]
        flags += [f"--user-data-dir={profile}", "--disable-background-networking", "--hide-scrollbars"]
        # The browser reads commands from descriptor 3 and answers on 4.
        ends = f"exec 3<&{ours[0]} 4>&{theirs[1]}; exec {binary} {' '.join(flags)}"
        self._process = subprocess.Popen(
            ["bash", "-c", ends], pass_fds=(ours[0], theirs[1]), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        os.close(ours[0])
        os.close(theirs[1])
        self._out, self._in = os.fdopen(ours[1], "wb", buffering=0), os.fdopen(theirs[0], "rb")
        target = self._send("Target.createTarget", url="about:blank")["targetId"]
        self._page = self._send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self._send(f"{domain}.enable")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._page = None
        self._send("Browser.close")
        self._process.wait(30)
        self._out.close()
        self._in.close()

    def open(self, page: Path, *, width: int, height: int = 900, is_dark: bool = False) -> None:
        """Open a file in a window of some size and wait until it is loaded."""
        self.requests.clear()
        self._send(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if is_dark else "light"}
        self._send("Emulation.setEmulatedMedia", features=[scheme])
        self._send("Page.navigate", url=page.as_uri())
        while self.value("document.readyState") != "complete" or self.value("location.protocol") != "file:":
            pass

    def value(self, expression: str) -> Any:  # `Any`: whatever the expression gives
        """Return the value of an expression of JavaScript on the page."""
        answer = self._send("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def screenshot(self, file: Path) -> None:
        """Keep what the whole page looks like."""
        answer = self._send("Page.captureScreenshot", captureBeyondViewport=True)
        file.write_bytes(base64.b64decode(answer["data"]))

    def _send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command and return its answer; what happens meanwhile is noted."""
        self._next += 1
        message = {"id": self._next, "method": method, "params": parameters}
        if self._page is not None:
            message["sessionId"] = self._page
        self._out.write(json.dumps(message).encode() + b"\0")
        while True:
            answer = json.loads(self._read())
            if answer.get("id") == self._next:
                assert "error" not in answer, answer["error"]
                return dict(answer["result"])
            self._note(answer)

    def _read(self) -> bytes:
        """Return one message; they end with a zero byte."""
        message = bytearray()
        while (byte := self._in.read(1)) != b"\0":
            assert byte, "the browser has closed the pipe"
            message += byte
        return bytes(message)

    def _note(self, event: dict[str, Any]) -> None:
        method, found = event.get("method"), event.get("params", {})
        if method == "Network.requestWillBeSent":
            self.requests.append(found["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            self.problems.append(str(found["exceptionDetails"]))
        elif method == "Log.entryAdded" and found["entry"]["level"] in {"error", "warning"}:
            self.problems.append(str(found["entry"]))
        elif method == "Runtime.consoleAPICalled" and found["type"] in {"error", "warning", "assert"}:
            self.problems.append(str(found["args"]))
