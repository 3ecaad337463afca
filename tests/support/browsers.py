"""A real browser for tests: found, started and stopped here; absent, the test says so."""

import contextlib
import os
import shutil
import subprocess
from pathlib import Path

import pytest

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
AXE = "axe-core@4.10.3"


@contextlib.contextmanager
def chromium():
    """Yield a started browser, or skip the test with the reason."""
    program = next(
        (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None
    )
    if program is None:
        pytest.skip("no Chromium is installed")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        pytest.skip("playwright is not installed")
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=program, args=FLAGS)
        try:
            yield browser
        finally:
            browser.close()


_AXE: list[str] = []


def axe_source(folder):
    """Return the accessibility checker's source, from MARKBOOK_AXE or the npm registry, or skip the test; fetched once."""
    if _AXE:
        return _AXE[0]
    named = os.environ.get("MARKBOOK_AXE")
    if named:
        return Path(named).read_text(encoding="utf-8")
    if not shutil.which("npm"):
        pytest.skip("no npm to fetch axe-core with; name its axe.min.js in MARKBOOK_AXE")
    try:
        subprocess.run(["npm", "pack", AXE], cwd=folder, check=True, capture_output=True, timeout=60)
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
        pytest.skip("axe-core cannot be fetched; name its axe.min.js in MARKBOOK_AXE")
    packed = next(Path(folder).glob("axe-core-*.tgz"))
    subprocess.run(["tar", "xzf", packed.name, "package/axe.min.js"], cwd=folder, check=True, timeout=60)
    _AXE.append((Path(folder) / "package" / "axe.min.js").read_text(encoding="utf-8"))
    return _AXE[0]


class Watched:
    """A page that loads nothing from a network, with everything it complained about."""

    def __init__(self, browser, address, *, width=1200, dark=False, offline=True):
        self.context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme="dark" if dark else "light", offline=offline
        )
        self.page = self.context.new_page()
        self.complaints, self.requests, self.dialogs = [], [], []
        self.page.on(
            "console",
            lambda message: self.complaints.append(message.text) if message.type in ("error", "warning") else None,
        )
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("dialog", lambda dialog: (self.dialogs.append(dialog.message), dialog.dismiss()))
        self.page.goto(address)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.context.close()


def serious_faults(page, source):
    """Return the serious and critical faults that axe finds in light and in dark colours, each with where.

    The shadows at the edges of wide tables are left out meanwhile: axe judges no contrast before a gradient.
    """
    page.evaluate(source)
    page.evaluate("document.adoptedStyleSheets = [new CSSStyleSheet()]")
    page.evaluate("document.adoptedStyleSheets[0].replaceSync('.scroll { background: none !important }')")
    faults = []
    # Only colours are others in the dark.
    for scheme, rules in (("light", {}), ("dark", {"runOnly": ["color-contrast", "link-in-text-block"]})):
        page.emulate_media(color_scheme=scheme)
        found = page.evaluate("rules => axe.run(document, {resultTypes: ['violations'], ...rules})", rules)
        faults += [
            (fault["id"], scheme, fault["nodes"][0]["html"][:200], len(fault["nodes"]))
            for fault in found["violations"]
            if fault["impact"] in ("serious", "critical")
        ]
    page.emulate_media(color_scheme=None)
    page.evaluate("document.adoptedStyleSheets = []")
    return faults
