"""Chromium without a window, spoken to over a pipe in its DevTools protocol; needs no package."""

from __future__ import annotations

import base64
import json
import os
import selectors
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --disable-dev-shm-usage --hide-scrollbars --remote-debugging-pipe"
).split()
WEBGL = ("--use-angle=swiftshader", "--enable-unsafe-swiftshader")
NO_WEBGL = ("--disable-3d-apis",)


def executable() -> str | None:
    """Where Chromium is: PINNPOINT_CHROMIUM, or the usual names."""
    return os.environ.get("PINNPOINT_CHROMIUM") or next((p for n in NAMES if (p := shutil.which(n))), None)


SAMPLES = """(async () => {
  const image = new Image();
  image.src = 'data:image/png;base64,' + PNG;
  await image.decode();
  const [x, y, w, h] = BOX, k = 3, canvas = document.createElement('canvas');
  [canvas.width, canvas.height] = [Math.floor(w / k), Math.floor(h / k)];
  const pen = canvas.getContext('2d');
  pen.imageSmoothingEnabled = false;
  pen.drawImage(image, x, y, w, h, 0, 0, canvas.width, canvas.height);
  const pixels = pen.getImageData(0, 0, canvas.width, canvas.height);
  return [canvas.width, canvas.height, btoa(Array.from(pixels.data, c => String.fromCharCode(c)).join(''))];
})()"""


class Browser:
    """One process with one page."""

    def __init__(self, *flags: str) -> None:
        self.profile = tempfile.mkdtemp(prefix="pinnpoint-chromium-")
        read_theirs, self.write = os.pipe()
        self.read, write_theirs = os.pipe()

        # Chromium reads descriptor 3 and writes 4
        plumb = (
            "import fcntl, os, sys; a, b = (fcntl.fcntl(int(n), fcntl.F_DUPFD, 10) for n in sys.argv[1:3]); "
            "os.dup2(a, 3); os.dup2(b, 4); os.execv(sys.argv[3], sys.argv[3:])"
        )
        command = [executable(), *FLAGS, *flags, f"--user-data-dir={self.profile}", "about:blank"]
        self.process = subprocess.Popen(
            [sys.executable, "-c", plumb, str(read_theirs), str(write_theirs), *command],
            pass_fds=(read_theirs, write_theirs),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(read_theirs)
        os.close(write_theirs)
        self.rest, self.number, self.session, self.events = b"", 0, None, []
        try:
            self._attach()
        except BaseException:
            self.close()
            raise

    def _attach(self) -> None:
        page = next(t for t in self("Target.getTargets")["targetInfos"] if t["type"] == "page")
        self.session = self("Target.attachToTarget", targetId=page["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self(f"{domain}.enable")

    def __call__(self, method: str, timeout: float = 60.0, **params: object) -> dict:
        """One command and its answer; what else arrives is kept in `events`."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.write, json.dumps(message).encode() + b"\0")
        mine, end = self.number, time.monotonic() + timeout
        while True:
            found = self._next(end - time.monotonic())
            if found is None:
                raise TimeoutError(f"{method}: no answer in {timeout} s")
            if found.get("id") == mine:
                if "error" in found:
                    raise RuntimeError(f"{method}: {found['error']}")
                return found["result"]
            self.events.append(found)

    def _readable(self, timeout: float) -> bool:
        with selectors.DefaultSelector() as waiting:  # unlike select(), whatever the number of the pipe
            waiting.register(self.read, selectors.EVENT_READ)
            return bool(waiting.select(timeout))

    def _next(self, timeout: float) -> dict | None:
        while b"\0" not in self.rest:
            if timeout <= 0 or not self._readable(timeout):
                return None
            piece = os.read(self.read, 1 << 20)
            if not piece:
                raise RuntimeError("Chromium ended")
            self.rest += piece
        line, _, self.rest = self.rest.partition(b"\0")
        return json.loads(line)

    def open(
        self, path: Path, width: int = 1280, height: int = 900, *, dark: bool = False, phone: bool = False
    ) -> None:
        """Show a file at a size and wait until the viewer has settled."""
        self("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=phone)
        self("Emulation.setTouchEmulationEnabled", enabled=phone)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self("Emulation.setEmulatedMedia", features=[scheme])
        self.events.clear()
        self("Page.navigate", url=Path(path).absolute().as_uri())
        self.wait("document.readyState === 'complete' && !!document.documentElement.dataset.viewer")
        self.wait("document.documentElement.dataset.viewer !== 'none' || !document.getElementById('viewer')")
        self.settle()

    def settle(self) -> None:
        """Two frames."""
        self.run("new Promise(r => requestAnimationFrame(() => requestAnimationFrame(() => r(1))))")

    def run(self, script: str) -> object:
        """The value of an expression in the page."""
        found = self("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in found:
            raise RuntimeError(str(found["exceptionDetails"].get("exception", found["exceptionDetails"])))
        return found["result"].get("value")

    def wait(self, script: str, timeout: float = 60.0) -> None:
        """Until an expression holds."""
        end = time.monotonic() + timeout
        while not self.run(script):
            if time.monotonic() > end:
                raise TimeoutError(script)
            time.sleep(0.05)

    def click(self, selector: str) -> None:
        """A real click in the middle of an element."""
        at = self.run(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)}); e.scrollIntoView({{block: 'center', "
            "behavior: 'instant'}); const b = e.getBoundingClientRect(); "
            "return [b.x + b.width / 2, b.y + b.height / 2]; })()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self("Input.dispatchMouseEvent", type=kind, x=at[0], y=at[1], button="left", clickCount=1)
        self.settle()

    def press(self, key: str) -> None:
        """A key, by its name."""
        codes = {"Tab": 9, "Enter": 13, "Escape": 27, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}
        extra = {"text": "\r"} if key == "Enter" else {}
        for kind in ("keyDown", "keyUp"):
            self(
                "Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=codes.get(key, 0), **extra
            )
        self.settle()

    def picture(self, path: Path | None = None, *, whole: bool = False) -> bytes:
        """A screenshot as PNG."""
        self.settle()
        image = base64.b64decode(self("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"])
        if path is not None:
            Path(path).write_bytes(image)
        return image

    def pixels(self, selector: str) -> np.ndarray:
        """Every third pixel of an element as shown, (height, width, 3)."""
        box = self.run(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)}); e.scrollIntoView({{block: 'center', "
            "behavior: 'instant'}); const b = e.getBoundingClientRect(); return [b.x, b.y, b.width, b.height]; })()"
        )
        png = json.dumps(base64.b64encode(self.picture()).decode("ascii"))
        width, height, raw = self.run(SAMPLES.replace("BOX", json.dumps(box), 1).replace("PNG", png, 1))
        return np.frombuffer(base64.b64decode(raw), dtype=np.uint8).reshape(height, width, 4)[..., :3].astype(int)

    def complaints(self) -> list[str]:
        """Errors and warnings of the console, exceptions, and violations of the content policy."""
        self.run("1")
        found = []
        for event in self.events:
            params = event.get("params", {})
            if event.get("method") == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
                found.append(str([a.get("value") for a in params["args"]]))
            elif event.get("method") == "Runtime.exceptionThrown":
                found.append(str(params["exceptionDetails"]))
            elif event.get("method") == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
                found.append(params["entry"]["text"])
        return [line for line in found if "GL Driver Message" not in line]  # screenshots read pixels back

    def requests(self) -> list[str]:
        """Addresses that the page asked for, data of its own aside."""
        self.run("1")
        asked = [e["params"]["request"]["url"] for e in self.events if e.get("method") == "Network.requestWillBeSent"]
        return [url for url in asked if not url.startswith(("data:", "blob:"))]

    def close(self) -> None:
        """End the process and remove its profile."""
        try:
            self.session = None
            self("Browser.close", timeout=5.0)
        except (RuntimeError, TimeoutError, OSError):
            pass
        try:
            self.process.wait(5.0)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.read)
        os.close(self.write)
        shutil.rmtree(self.profile, ignore_errors=True)
