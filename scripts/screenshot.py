"""Draw docs/report.png, the picture of README: the head of the demo's report, in the Chromium that the tests use.

`make docs` calls it. Without a Chromium the picture stays as it is. The time of the run is left out, so that the same
report gives the same picture.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))
WIDTH, HEIGHT = 1180, 735
_MOST = 150_000
"""Bytes: the picture is in every clone."""


_WITHOUT_TIME = (
    "for (const one of document.querySelectorAll('.facts div')) if (/^Started/.test(one.textContent)) one.remove()"
)


def main() -> None:
    """Draw the picture, or say why not."""
    from _pytest.outcomes import Skipped

    try:
        draw()
    except Skipped as why:
        print(f"docs/report.png stays as it is: {why}")


def draw() -> None:
    """Mark the bundled exam and draw the first screen of its report."""
    from support.browsers import Watched, chromium

    from markbook import exam

    folder = ROOT / "examples" / "exam"
    models = [folder / name for name in ("scholar-70b", "apprentice-13b", "novice-1b")]
    target = ROOT / "docs" / "report.png"
    with tempfile.TemporaryDirectory() as place, chromium() as browser:
        run = exam(folder / "benchmark", models, place, timeout=2.0)
        with Watched(browser, (run.folder / "report.html").as_uri(), width=WIDTH) as watched:
            watched.page.set_viewport_size({"width": WIDTH, "height": HEIGHT})
            watched.page.evaluate(_WITHOUT_TIME)
            watched.page.screenshot(path=target)
    size = target.stat().st_size
    print(f"{target}: {size:,} bytes")
    if size > _MOST:
        sys.exit("too large for a clone")


if __name__ == "__main__":
    main()
