"""The site: every page is in its menu, it builds without a warning, no link leads nowhere, and nothing is fetched."""

import subprocess
import sys

import pytest
from ruamel.yaml import YAML
from support.paths import ROOT

WRITTEN = ("reference/", "project/")
"""Pages that the build adds."""


def menu(entries):
    """Yield the pages of the site's menu."""
    for entry in entries:
        (target,) = entry.values()
        if isinstance(target, str):
            yield target
        else:
            yield from menu(target)


def test_every_page_stands_in_the_menu_once():
    found = list(menu(YAML(typ="safe").load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))["nav"]))

    there = {str(path.relative_to(ROOT / "docs")) for path in (ROOT / "docs").rglob("*.md")}
    assert len(found) == len(set(found))
    assert {page for page in found if not page.startswith(WRITTEN)} == {
        page.replace("metrics/README.md", "metrics/index.md") for page in there
    }


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Return the built site."""
    pytest.importorskip("zensical", reason="the site's builder is not installed: pip install -e '.[docs]'")
    folder = tmp_path_factory.mktemp("docs")
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "build_docs.py", folder], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "site"


def test_the_site_builds_without_a_warning_and_every_link_leads_somewhere(site):
    assert (site / "index.html").is_file()
    assert (site / "report.png").is_file()


def test_the_reference_has_every_command_every_public_name_and_every_key_of_a_task(site):
    import markbook
    from markbook import stats

    commands = (site / "reference" / "commands.html").read_text(encoding="utf-8")
    python = (site / "reference" / "python.html").read_text(encoding="utf-8")
    numbers = (site / "reference" / "statistics.html").read_text(encoding="utf-8")
    keys = (site / "reference" / "task_file.html").read_text(encoding="utf-8")
    assert "--fail-under" in commands
    assert "markbook judge correct" in commands
    assert [name for name in markbook.__all__ if name not in python and not name.startswith("__")] == []
    assert [name for name in stats.__all__ if name not in numbers] == []
    assert "doc_to_text" not in keys
    assert "<code>few_shot</code>" in keys


def test_nothing_of_the_site_is_fetched_from_elsewhere(site):
    pages = "".join(path.read_text(encoding="utf-8") for path in site.rglob("*.html"))

    assert "fonts.googleapis" not in pages
    assert "unpkg.com" not in pages
    assert "cdn." not in pages


def test_a_link_that_leads_nowhere_is_found(tmp_path):
    sys.path.insert(0, str(ROOT / "scripts"))
    try:
        import build_docs
    finally:
        sys.path.pop(0)
    (tmp_path / "one.html").write_text(
        '<h2 id="a">A</h2><a href="two.html">x</a><a href="#a">y</a><a href="#b">z</a>'
        '<script src="https://example.org/x.js"></script><img src="lost.png"><a href="https://example.org">w</a>'
    )

    assert build_docs.faults_of(tmp_path) == [
        "one.html: #b names no place there",
        "one.html: loads https://example.org/x.js",
        "one.html: lost.png leads nowhere",
        "one.html: two.html leads nowhere",
    ]
