"""Build the documentation site: `python scripts/build_docs.py [FOLDER]` (build/docs by default; the pages are in site/).

The pages of docs/ are put into the folder with a reference written from the program (`scripts/reference.py`), built there
strictly and without a network, and every link and image of the result is looked for.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import reference

ROOT = Path(__file__).resolve().parents[1]
_PROJECT = {name: f"project/{name.lower()}" for name in ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")}
"""Pages of the repository's root that the site has too."""
_FENCE = re.compile(r"^( *`{3,})(\w+) +(\S+)$", re.MULTILINE)
_LINK = re.compile(r"(\]\()([^)\s#]+)((?:#[^)\s]*)?\))")


def main() -> int:
    """Build, and say what is wrong."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build" / "docs"
    lay_out(folder)
    done = subprocess.run(
        [sys.executable, "-m", "zensical", "build", "--clean", "--strict"],
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    said = done.stdout + done.stderr
    faults = faults_of(folder / "site")
    if done.returncode or re.search(r"warn", said, re.IGNORECASE):
        faults.insert(0, said.strip())
    print("\n".join(faults) if faults else f"{len(list((folder / 'site').rglob('*.html')))} pages in {folder / 'site'}")
    return 1 if faults else 0


def lay_out(folder: Path) -> None:
    """Put into a new folder what the site is built from."""
    shutil.rmtree(folder, ignore_errors=True)
    pages = folder / "docs"
    shutil.copytree(ROOT / "docs", pages)
    (pages / "metrics" / "README.md").rename(pages / "metrics" / "index.md")
    (pages / "project").mkdir()
    for name, target in _PROJECT.items():
        shutil.copy(ROOT / name, pages / target)
    for path in pages.rglob("*.md"):
        depth = len(path.relative_to(pages).parts) - 1
        path.write_text(for_the_site(path.read_text(encoding="utf-8"), "../" * depth), encoding="utf-8")
    reference.write(pages / "reference")
    shutil.copy(ROOT / "mkdocs.yml", folder)


def for_the_site(text: str, top: str) -> str:
    """Return a page as the site's builder reads it: files with their names above, links to where things lie there."""
    text = _FENCE.sub(lambda found: _fence(*found.groups()), text)
    return _LINK.sub(lambda found: f"{found[1]}{_address(found[2], top)}{found[3]}", text)


def _fence(fence: str, language: str, name: str) -> str:
    return f'{fence}{language} title="{name}"' if "." in name else f"{fence}{language}"


def _address(link: str, top: str) -> str:
    if link.endswith("metrics/README.md"):
        return link.replace("README.md", "index.md")
    name = link.rsplit("/", 1)[-1]
    if name in _PROJECT:
        return f"{top}{_PROJECT[name]}"
    if link.startswith("docs/"):
        return top + link.removeprefix("docs/").replace("metrics/README.md", "metrics/index.md")
    return link


class _Page(HTMLParser):
    """The addresses that a page names and the places in it that can be named."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.ids = {""}
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what the tag names."""
        given = {name: value or "" for name, value in attrs}
        self.ids.update(given[name] for name in ("id", "name") if name in given)
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if tag in ("script", "img", "link", "source") and given.get("rel") not in ("canonical", "edit"):
            self.loaded += [given[name] for name in ("src", "href") if given.get(name)]


def faults_of(site: Path) -> list[str]:
    """Return the links that lead nowhere, and what a page would load from a network."""
    pages = {path.resolve(): _Page(path.read_text(encoding="utf-8")) for path in site.rglob("*.html")}
    faults = [] if pages else [f"no page was built in {site}"]
    for path, page in pages.items():
        faults += [f"{path.name}: loads {address}" for address in page.loaded if urlsplit(address).netloc]
        for link in page.links + page.loaded:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if parts.path.startswith("/"):
                target = site.resolve() / parts.path.lstrip("/")
            target = target / "index.html" if target.is_dir() else target
            if not target.exists():
                faults.append(f"{path.relative_to(site.resolve())}: {link} leads nowhere")
            elif target in pages and unquote(parts.fragment) not in pages[target].ids:
                faults.append(f"{path.relative_to(site.resolve())}: {link} names no place there")
    return sorted(set(faults))


if __name__ == "__main__":
    sys.exit(main())
