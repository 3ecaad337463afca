"""The fenced blocks of README.md and docs/, and a session that runs those of one page in a folder of its own.

A block's info string says what becomes of it:

    sh                  commands; each ends with 0, or with N where its line says `# exit N`
    console             what the `sh` block before it prints; `...` stands for anything
    python, pycon       run in one namespace a page; what pycon prints is compared
    yaml task.yaml      a file of that name, written where the page's commands find it
    json answers        rows of `answers.jsonl`, likewise
    text                no code: a diagram, a form

A line `*Not run by the tests: REASON.*` below a block says why it cannot run. `MARKBOOK_WRITE_DOCS=1` writes what the
commands of console blocks print into the pages, to be looked at with `git diff`.
"""

import ast
import asyncio
import contextlib
import doctest
import inspect
import io
import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass

import pytest

from markbook import cli
from support.docs_checks import CHECKS, ROOT, check_file
from support.load import PATIENCE

FOLLOWED = {"docs/extending.md": "test_extending.py"}
"""Pages that a test of their own follows from the first block to the last."""
WAITING = ("view", "serve", "label")
"""Commands that go on until they are stopped."""
_FENCE = re.compile(r"^( *)(`{3,})(.*)$")
_EXCUSE = re.compile(r"^\*Not run by the tests: (.+)\.\*$")
_SHELL = re.compile(r"[|;&<>$*`~()]")
_EXIT = re.compile(r"#.*\bexit (\d+)")
_LOOSE = re.compile(r" {4,}\$? ?(markbook|python|pip|make|uvx) ")
_FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@dataclass(frozen=True)
class Block:
    """A fenced block: where it stands, what it says of itself, and why it cannot run, if it says so."""

    page: str
    line: int
    info: tuple[str, ...]
    text: str
    excuse: str

    def __str__(self):
        return f"{self.page}:{self.line} ({' '.join(self.info)})"

    @property
    def language(self):
        return self.info[0] if self.info else ""

    @property
    def file(self):
        """The name of the file that the block is, or nothing."""
        if len(self.info) < 2:
            return ""
        return self.info[1] if "." in self.info[1] else f"{self.info[1]}.jsonl"


def pages():
    """Return the pages whose blocks are run, README first."""
    return ["README.md", *sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md"))]


def blocks_of(page):
    """Return the fenced blocks of a page."""
    lines = (ROOT / page).read_text(encoding="utf-8").splitlines()
    found, at = [], 0
    while at < len(lines):
        opened = _FENCE.match(lines[at])
        if opened is None:
            at += 1
            continue
        indent, fence, info = opened.groups()
        end = next(n for n in range(at + 1, len(lines)) if lines[n].strip() == fence)
        text = "\n".join(line.removeprefix(indent) for line in lines[at + 1 : end])
        after = next((line.strip() for line in lines[end + 1 :] if line.strip()), "")
        excuse = _EXCUSE.match(after)
        if info == "console":  # a command and what it prints are one: they stand apart, so that a command can be copied
            text = f"$ {found.pop().text}\n{text}"
        found.append(Block(page, at + 1, tuple(info.split()), text, excuse[1] if excuse else ""))
        at = end + 1
    return found


def fate(block, page_blocks):
    """Return what becomes of a block: `run`, `checked`, `not run`, `no code`, or `?` for one that does not say what it is."""
    if block.excuse:
        return "not run"
    if block.page in FOLLOWED:
        return "run"
    if block.file:
        others = [each.text for each in page_blocks if each.line != block.line and not each.excuse]
        return "run" if any(block.file in text for text in others) else "checked"
    if block.language in ("sh", "console"):
        programs = {words[0] for _, words, _ in commands(block) if words}
        return "checked" if programs and programs <= set(CHECKS) else "run"
    return {"python": "run", "pycon": "run", "text": "no code"}.get(block.language, "?")


def loose(page):
    """Return the commands that stand outside of fenced blocks, where nothing would run them."""
    inside = {n for block in blocks_of(page) for n in range(block.line, block.line + block.text.count("\n") + 2)}
    lines = enumerate((ROOT / page).read_text(encoding="utf-8").splitlines(), start=1)
    return [f"{page}:{n}" for n, line in lines if n - 1 not in inside and _LOOSE.match(line)]


def counted():
    """Return how many blocks there are by what becomes of them and by language."""
    count = Counter()
    for page in pages():
        found = blocks_of(page)
        count.update((fate(block, found), block.language) for block in found)
    return count


def commands(block):
    """Return a block's commands: the line as it stands, its words, and the output that is expected (None in a sh block)."""
    found = []
    if block.language == "console":
        for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
            line, _, output = part.partition("\n")
            while line.endswith("\\"):
                more, _, output = output.partition("\n")
                line = f"{line[:-1].rstrip()} {more.removeprefix('> ').strip()}"
            found.append((line, shlex.split(line, comments=True), output))
        return found
    line = ""
    for each in block.text.splitlines():
        line = f"{line}\n{each}" if line else each
        if line.endswith("\\"):
            continue
        with contextlib.suppress(ValueError):
            words = shlex.split(line.replace("\\\n", " "), comments=True)
            if words:
                found.append((line.replace("\\\n", " "), words, None))
            line = ""
    return found


def plain(text, folder=""):
    """Return what a command printed without what differs from run to run: times, rates, ports, the folder."""
    text = text.replace(f"{folder}/", "") if folder else text
    text = re.sub(r"evaluation_\d{9,}(_\d+)?", "evaluation_1790000000", text)
    text = re.sub(r"\b\d+(\.\d+)?/s", "100/s", text)
    text = re.sub(r"(isolation(?: level)?) [A-D]", r"\1 A", text)
    text = re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:8000", text)
    text = re.sub(r"(?<!target )\b\d+(\.\d+)? (ms|s)\b", r"1.0 \2", text)
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


class Session:
    """Runs the blocks of one page, in order, in a folder of its own."""

    def __init__(self, page, folder, base_url):
        self.page, self.folder, self.base_url = page, folder, base_url
        self.port = _free_port()
        self.names = {"__name__": "docs"}
        self.written = set()
        self.waiting = []
        self.said = {}

    def __enter__(self):
        self.loop = asyncio.new_event_loop()
        asyncio.set_event_loop(self.loop)  # libraries that find none make one of their own and never close it
        return self

    def __exit__(self, *_):
        self.loop.close()
        asyncio.set_event_loop(None)
        self._stop()

    def _stop(self):
        while self.waiting:
            process = self.waiting.pop()
            process.terminate()
            process.communicate(timeout=PATIENCE)

    def go_through(self, blocks):
        """Write the files that a page shows, then run its other blocks in order."""
        runs = [block for block in blocks if not block.excuse]
        for block in runs:
            if block.file:
                self._file(block)
        for block in runs:
            if not block.file:
                self._run(block)

    def _run(self, block):
        if block.language in ("sh", "console"):
            outputs = [self._command(*each, block=block) for each in commands(block)]
            if block.language == "console":
                self.said[block.line] = outputs
        elif block.language == "python":
            self._python(block)
        elif block.language == "pycon":
            self._pycon(block)

    def _file(self, block):
        path = self.folder / block.file
        path.parent.mkdir(parents=True, exist_ok=True)
        text = block.text + "\n"
        if block.file.endswith(".jsonl"):
            for row in block.text.splitlines():
                json.loads(row)  # as a reader copies it: one row a line
            if block.file in self.written:
                text = path.read_text(encoding="utf-8") + text
        elif block.file.endswith(".json"):
            json.loads(text)
        check_file(block.file, text)
        path.write_text(text, encoding="utf-8")
        self.written.add(block.file)

    def _command(self, line, words, expected, *, block):
        if words[0] in CHECKS:
            CHECKS[words[0]](words)
            return ""
        wanted = int(found[1]) if (found := _EXIT.search(line)) else 0
        line = line.replace("http://127.0.0.1:8000/v1", self.base_url).replace("8080", str(self.port))
        code, out = self._call(line)
        assert code == wanted, f"{block}: `{line}` ended with {code}\n{out}"
        out = plain(out, self.folder)
        if expected is not None and not os.environ.get("MARKBOOK_WRITE_DOCS"):
            same = doctest.OutputChecker().check_output(expected.strip() + "\n", out + "\n", _FLAGS)
            assert same, f"{block}: `{line}` printed\n{out}\nand not\n{expected}"
        return out

    def _call(self, line):
        bare = re.sub(r"'[^']*'|\"[^\"]*\"", "", line.split(" #")[0])
        words = shlex.split(line, comments=True)
        if words[0] == "curl" and shutil.which("curl") is None:
            pytest.skip("no curl here")
        if words[0] != "markbook" or _SHELL.search(bare):
            done = subprocess.run(
                ["bash", "-c", line], cwd=self.folder, check=False, stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            )  # fmt: skip
            return done.returncode, done.stdout
        if words[1] in WAITING:
            return self._wait_for(words)
        if words[1] in ("exam", "demo", "run") and "--isolation" not in words:
            words += ["--isolation", "weak"]
        out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            code = 0
            try:
                cli.main(words[1:])
            except SystemExit as stop:
                code = int(stop.code or 0)
        return code, out.buffer.getvalue().decode()

    def _wait_for(self, words):
        """Start what goes on until the next such command, as a reader stops one; it counts once it says where it listens."""
        self._stop()
        process = subprocess.Popen(
            [sys.executable, "-m", "markbook", *words[1:]], cwd=self.folder, text=True, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        self.waiting.append(process)
        out = ""
        for each in process.stdout:
            out += each
            if "http://" in each:
                return 0, out
        return process.wait(), out

    def _python(self, block):
        text = block.text.replace("http://127.0.0.1:8000/v1", self.base_url)
        code = compile(text, f"{block.page}:{block.line}", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        with contextlib.redirect_stdout(io.StringIO()):
            found = eval(code, self.names)
            if inspect.iscoroutine(found):
                self.loop.run_until_complete(found)

    def _pycon(self, block):
        test = doctest.DocTestParser().get_doctest(block.text + "\n", self.names, str(block), block.page, block.line)
        said = []
        runner = doctest.DocTestRunner(optionflags=_FLAGS, verbose=False)
        runner.run(test, out=said.append, clear_globs=False)
        self.names.update(test.globs)
        assert runner.failures == 0, "".join(said)


def _free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def write_page(page, said):
    """Put what console blocks printed into their page."""
    lines = (ROOT / page).read_text(encoding="utf-8").splitlines()
    for block in reversed(blocks_of(page)):
        if block.line in said:
            ((_, _, expected),), (out,) = commands(block), said[block.line]
            if not doctest.OutputChecker().check_output(expected.strip() + "\n", out + "\n", _FLAGS):
                lines[block.line : block.line + len(expected.splitlines())] = out.splitlines()
    (ROOT / page).write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    for (what, language), number in sorted(counted().items()):
        print(f"{number:4} {what:8} {language}")
