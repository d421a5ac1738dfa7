"""A headless Chromium for scripts: Debian's packages chromium and chromium-driver, spoken to with WebDriver and DevTools."""

import base64
import json
import shutil
import socket
import subprocess
import time
import urllib.request

SIZES = {"wide": (1440, 900), "phone": (390, 844)}


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Browser:
    """As much of WebDriver as this needs."""

    def __init__(self, profile):
        self.port = free_port()
        self.driver = subprocess.Popen(["chromedriver", f"--port={self.port}"], stdout=subprocess.DEVNULL)
        flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
                 "--disable-background-networking", "--disable-component-update", "--disable-sync",
                 f"--user-data-dir={profile}"]
        wanted = {"browserName": "chrome", "goog:chromeOptions": {"args": flags, "binary": shutil.which("chromium")},
                  "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"}}
        for _ in range(100):
            try:
                self.session = self.call("POST", "/session", {"capabilities": {"alwaysMatch": wanted}}, "")["sessionId"]
                return
            except OSError:
                time.sleep(0.1)
        raise SystemExit("chromedriver does not answer")

    def call(self, method, path, body=None, prefix=None):
        prefix = f"/session/{self.session}" if prefix is None else prefix
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{prefix}{path}", data, method=method,
                                         headers={"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=120) as answer:
            return json.load(answer)["value"]

    def run(self, script, *arguments):
        return self.call("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def wait(self, script):
        return self.call("POST", "/execute/async", {"script": script, "args": []})

    def devtools(self, command, **parameters):
        return self.call("POST", "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def logs(self, kind):
        return self.call("POST", "/se/log", {"type": kind})

    def picture(self, file, of=None):
        """Of the whole page, or of the first element that a selector finds."""
        clip = {}
        if of:
            x, y, width, height = self.run("const r = document.querySelector(arguments[0]).getBoundingClientRect(); "
                                           "return [r.x + scrollX, r.y + scrollY, r.width, r.height]", of)
            clip = {"clip": {"x": x - 8, "y": y - 8, "width": width + 16, "height": height + 16, "scale": 1}}
        whole = self.devtools("Page.captureScreenshot", captureBeyondViewport=True, **clip)
        file.write_bytes(base64.b64decode(whole["data"]))

    def open(self, page, size, dark):
        wide, high = SIZES[size]
        self.devtools("Emulation.setDeviceMetricsOverride", width=wide, height=high, deviceScaleFactor=1,
                      mobile=size == "phone")
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.devtools("Emulation.setEmulatedMedia", features=scheme)
        # Otherwise elements of a window in the background get no focus events.
        self.devtools("Emulation.setFocusEmulationEnabled", enabled=True)
        self.logs("browser"), self.logs("performance")
        begin = time.monotonic()
        self.call("POST", "/url", {"url": page.as_uri()})
        self.wait("const done = arguments[arguments.length - 1]; requestAnimationFrame(() => requestAnimationFrame(done));")
        return time.monotonic() - begin

    def quiet(self):
        """Nothing on the console, and nothing asked for but the page itself."""
        console = [entry["message"] for entry in self.logs("browser")]
        check(not console, f"the console is empty: {console}")
        sent = [json.loads(entry["message"])["message"] for entry in self.logs("performance")]
        urls = [one["params"]["request"]["url"] for one in sent if one["method"] == "Network.requestWillBeSent"]
        # The browser's own first tab loads its own parts.
        urls = [url for url in urls if not url.startswith("chrome:")]
        others = [url for url in urls if not url.startswith(("file:", "data:"))]
        check(not others and len([url for url in urls if url.startswith("file:")]) == 1, f"one file is read: {urls}")

    def close(self):
        self.call("DELETE", "")
        self.driver.terminate()


def check(holds, what):
    if not holds:
        raise SystemExit(f"does not hold: {what}")
