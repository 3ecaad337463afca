"""What there is to say of a language, and how a program is made by it."""

from __future__ import annotations

import glob
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


# A test of the tests' own with another expectation: what gets past it has tampered with what its tests assert by.
#
# Only a comparison that cannot hold for a right answer will do: its left side is a call of constants, which nothing before it
# can have changed, and its right side a constant, of which one word or digit is made another.

_TEXT = re.compile(r'"(?:[^"\\\n]|\\.)*"')
_NAME = re.compile(r"(?<![\w.])[A-Za-z_]\w*(?!\w)(?!\s*(?:[(!<]|::))")
_TYPE = re.compile(
    r"bool|char|double|false|float|int|long|new|short|string|true|unsigned|None|String|[iu](?:8|16|32|64|size)|f64"
)
"""Names of what is not a variable."""
_NUMBER = re.compile(r"(?<![\w.\\])(\d{0,5})(\d)(?![\dxXbo_])")
"""Of more digits than that a `float` might hold the same."""
_TRUTH = re.compile(r"\b(?:true|false)\b")
_PLAIN = re.compile(r'"([^"\\\n]*)"')
_OPEN, _CLOSE = "([{", ")]}"


@dataclass(frozen=True, slots=True)
class EqualityForm:
    """How tests of a language say that two values are equal, on a line of their own."""

    statement: str
    """A pattern; `inner` is what holds both values."""
    separator: str
    """What stands between them."""
    claim: str
    """The claim in whose place it is put."""
    end: str = r"\s*"
    """What may stand behind the last one, so that its names are known where the tests end."""
    is_constant: bool = False
    """Whether the pattern itself lets nothing by but a call of constants."""


def contradiction(tests: str, comparison: EqualityForm) -> str | None:
    """Return the last comparison of the tests with another expectation; None if that is not sure to be wrong."""
    last = next(iter(reversed(list(re.finditer(comparison.statement, tests, re.MULTILINE)))), None)
    if last is None or not re.fullmatch(comparison.end, tests[last.end() :]):
        return None
    inner = last["inner"]
    bare = _bare(inner)
    parts, depth, begun = [], 0, 0
    for at, sign in enumerate(bare):
        depth += (sign in _OPEN) - (sign in _CLOSE)
        if depth == 0 and at >= begun and bare.startswith(comparison.separator, at):
            parts.append(inner[begun:at])
            begun = at + len(comparison.separator)
    sides = [*parts, inner[begun:]]
    if len(sides) != 2 or (not comparison.is_constant and any(_names(side) for side in sides)):
        return None
    other = _other(sides[1])
    if other is None:
        return None
    start, end = (position - last.start() for position in last.span("inner"))
    return f"{last[0][:start]}{sides[0]}{comparison.separator}{other}{last[0][end:]}".strip()


def _bare(text: str) -> str:
    """Return a text with nothing in its strings, each sign where it was."""
    return _TEXT.sub(lambda match: '"' + "_" * (len(match[0]) - 2) + '"', text)


def _names(text: str) -> set[str]:
    """Return the variables of an expression, and every sign by which it is more than calls and constants."""
    bare = _TEXT.sub('""', text)
    variables = {name for name in _NAME.findall(bare) if not _TYPE.fullmatch(name)}
    return variables | set(re.findall(r"&&|\|\||[?;=]|'", bare))


def _other(expected: str) -> str | None:
    """Return another constant of the same type."""
    masked_text = expected
    while (masked := re.sub(r"<[^<>]*>", lambda match: "_" * len(match[0]), masked_text)) != masked_text:
        masked_text = masked  # a number among the arguments of a type is not a value
    bare = _bare(masked_text)
    number = _NUMBER.search(bare)
    truth = _TRUTH.search(bare)
    text = _PLAIN.search(expected)
    if number is not None:
        digit = str(int(number[2]) - 1) if number[2] != "0" else "1"
        return expected[: number.start(2)] + digit + expected[number.end(2) :]
    if text is not None:
        return f'{expected[: text.start()]}"x{text[1]}"{expected[text.end() :]}'
    if truth is not None:
        return expected[: truth.start()] + {"true": "false", "false": "true"}[truth[0]] + expected[truth.end() :]
    return None


Where = Literal["end", "body", "inner body"]
"""Where a test program ends: behind its text, before its last closing brace, or before the one before that."""

_FIRST = re.compile(r"(?:#![^\n]*\n)?(?:\s*(['\"])use strict\1)?")
"""What is of no effect anywhere but at the beginning of a program."""
_LAST = re.compile(r"(?:\breturn\s+0\s*;\s*)?\}\s*\Z")


@dataclass(frozen=True, slots=True)
class Ending:
    """The last statements of a test program: they show that the tests reached their own end.

    They read 32 characters from standard input. Where those are `{nonce}`, the claim is made, which is wrong: no honest
    program gets past it. Else `{token}` is printed, on a line of its own. A language that `catches` makes the claim in
    the same run, catches what it throws, and prints `{token}`, or `{nonce}` if nothing was thrown, and the characters that it read.
    """

    text: str
    """The statements, with `{nonce}`, `{token}` and `{claim}`."""
    claim: str
    """A statement in the manner of the tests that fails."""
    claims: tuple[tuple[str, str], ...] = ()
    """Claims that are made instead where the tests' text has a word: those that an answer could have tampered with."""
    comparisons: tuple[EqualityForm, ...] = ()
    """Tests whose last one, with another expectation, is a better claim: an answer cannot tell it from a test."""
    where: Where = "end"
    catches: bool = False
    guards: tuple[tuple[str, str], ...] = ()
    """What stands before tests whose text has a word, where what it names would let a failure go by or be tampered with."""
    closes: str = r"\s*\}"
    """What of the tests still belongs to the answer, at their very beginning: behind it stand the guards."""
    status: tuple[str, str] = ("", "")
    """A last statement that ends the program with `value` as its status, and what stands in its place: that ends it only if it
    is not a success, so that these statements are reached."""
    never: tuple[tuple[str, str], ...] = ()
    """Tests of which nothing behind them can see that they were passed, as patterns, and what to write instead."""
    counted: tuple[tuple[str, str], ...] = ()
    """Patterns of what the tests are made of, and what is put in its place, so that it is known which of it ran."""
    before: str = ""
    """What stands before everything else, in the first line: it keeps what an answer could tamper with."""
    entry: tuple[str, str] = ("", "")
    """What stands for `{entry}` in the files unless the tests have it, and by which word it is told that they do."""
    files: Mapping[str, str] = field(default_factory=dict)
    """Further files, with the same words in their texts."""

    def claim_for(self, tests: str) -> str:
        """Return the claim in the manner of these tests."""
        claim = next((claim for word, claim in self.claims if word in tests), self.claim)
        contradictions = (
            (comparison.claim, contradiction(tests, comparison))
            for comparison in self.comparisons
            if comparison.claim in claim
        )
        return next((claim.replace(old, new) for old, new in contradictions if new is not None), claim)

    def put(self, tests: str, words: Mapping[str, str], where: Where | None = None) -> str:
        """Return the tests with these statements at their end.

        Raises:
            ValueError: no such end is found, or it is never reached.
        """
        if reason := next((reason for pattern, reason in self.never if re.search(pattern, tests)), ""):
            raise ValueError(reason)
        pattern, instead = self.status
        if match := re.search(pattern, tests) if pattern else None:
            ended = fill_template(instead, {"value": match["value"]})
            tests = tests[: match.start()] + ended + tests[match.end() :]
        added = fill_template(self.text, words)
        for pattern, counted in self.counted:
            tests = re.sub(pattern, fill_template(counted, words), tests, flags=re.MULTILINE)
        guards = fill_template("".join(text for word, text in self.guards if word in tests), words)
        closed = re.match(self.closes, tests)  # it ends the answer, whose part the guards are not to be
        tests = f"{closed[0]}\n{guards}{tests[closed.end() :]}" if closed and closed[0] and guards else guards + tests
        position = where or self.where
        if position == "end":
            return f"{tests.rstrip()}\n{added}\n"
        outer = _LAST.search(tests)
        if outer is None:
            raise ValueError("the tests do not end in the closing brace of what runs them, such as `main`")
        if position == "body":
            return f"{tests[: outer.start()]}\n{added}\n{outer[0]}"
        inner = _LAST.search(tests[: outer.start()])
        if inner is None:
            raise ValueError(
                "the tests do not end in two closing braces: of what runs them, and of the class or module around it"
            )
        return f"{tests[: inner.start()]}\n{added}\n{inner[0]}{outer[0]}"


def fill_template(text: str, words: Mapping[str, str]) -> str:
    """Return a text with words in the place of `{name}`; other braces stay."""
    for name, value in words.items():
        text = text.replace("{" + name + "}", value)
    return text


@dataclass(frozen=True, slots=True)
class Failures:
    """What a program's errors mean, by patterns in what it prints there."""

    tests: str = r"[Aa]ssert"
    """A test failed: the program did nothing wrong but to be wrong."""
    memory: str = r"bad_alloc|OutOfMemoryError|out of memory|memory allocation of|Cannot allocate memory"
    build: str = r"\berror\b"
    """The line of the compiler that says what is wrong."""
    names: str = r"(?!)"
    """What a run says of a name that is not there, in languages without a compiler."""
    syntax: str = r"(?!)"
    """The same of a text that is not a program."""
    quiet: str = ""
    """Where this is printed to standard error a test failed, whatever the program exits with."""


def read_source(name: str) -> str:
    """Return a program, or a part of one, that lies beside this module in the language it is written in."""
    return Path(__file__).with_name("sources").joinpath(name).read_text(encoding="utf-8")


def as_text(record: DataclassInstance) -> str:
    """Return a record as a text that is the same in every process: of what is not a plain data, such as a function, the type."""

    def to_plain(value: object) -> object:
        return sorted(value) if isinstance(value, set | frozenset) else type(value).__name__

    return json.dumps(asdict(record), sort_keys=True, default=to_plain)


@dataclass(frozen=True, slots=True)
class Library:
    """What programs may want beside the toolchain itself."""

    word: str
    """By which a program's text says that it wants it."""
    path: str
    """Where it lies, as a pattern."""
    package: str
    """What Debian calls it."""

    @property
    def places(self) -> list[str]:
        """Where it is here; nowhere if programs cannot use it."""
        return glob.glob(self.path)


@dataclass(frozen=True, slots=True)
class Prepared:
    """What is built once, of nothing but the toolchain's own text, and is there for every program in `{kept}` to read."""

    files: Mapping[str, str]
    command: tuple[str, ...]
    """Run in the folder of these files, with `{kept}` for the folder that stays."""
    environment: Mapping[str, str] = field(default_factory=dict)
    wanted: tuple[str, ...] = ("",)
    """It is made for the first program whose text has one of these; before, `{kept}` is the empty `{work}`."""


@dataclass(frozen=True, slots=True)
class Headers:
    """Precompiled headers: programs that begin by including the same ones share their compilation."""

    names: frozenset[str]
    """Those of the toolchain itself, which say the same whoever includes them, in whatever order."""
    command: tuple[str, ...]
    """Compiles `{header}` into `{made}`."""
    option: str
    """The word `{head}` of the command that builds, with `{header}`."""
    suffix: str
    """What the name of the compiled one has behind that of the header."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Building many programs in one process that never runs any of them.

    It reads texts, each behind its length in four bytes, and prints for each in order `F`, how many files, and each one's
    name and bytes behind their lengths; or `E` and what the compiler said, behind its length.
    """

    files: Mapping[str, str]
    command: tuple[str, ...]
    size: int = 32
    fewest: int = 4
    """So many wait for one another before it is worth starting."""


@dataclass(frozen=True, slots=True)
class Places:
    """Where a toolchain lies."""

    commands: Mapping[str, str]
    """Absolute paths, by the names that build and run commands use."""
    folders: tuple[str, ...] = ()
    """What it needs beside the system's own folders of programs and libraries."""
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Alone:
    """How answers that are whole programs, with no tests of ours in them, differ from answers with their tests.

    What is empty is as for those.
    """

    build: tuple[str, ...] | None = None
    """The command that makes it, with `{sources}` for all files in this language; none where it is empty."""
    run: tuple[str, ...] = ()
    source: str = ""
    """What the file that is started is called."""
    name: Callable[[str], str] | None = None
    """The same, made of the file's text."""
    words: Callable[[str, tuple[str, ...]], Mapping[str, str]] | None = None
    """Further words of both commands, made of the text of the file that is started and the names of all, that one first."""
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Language:
    """A language, told by data."""

    name: str
    title: str
    source: str
    """The file that a program is written to."""
    commands: tuple[str, ...]
    """The programs that have to be there; the first says which version it is."""
    version: tuple[str, ...] = ("--version",)
    package: str
    """What Debian calls it: said where it is not there."""
    run: tuple[str, ...]
    """The command that runs a program, with `{build}` for the folder that holds it and the names of `commands`."""
    build: tuple[str, ...] = ()
    """The command that makes it, run in that folder; none where the text is run."""
    ending: Ending
    alone: Alone = field(default_factory=Alone)
    suffixes: tuple[str, ...] = ()
    """How names of its files end, where the name alone says in which language a file is; first the usual one."""
    unlike: str = r"(?!)"
    """The beginning of a file that is named so and is in another language, such as an earlier version."""
    aliases: tuple[str, ...] = ()
    """Other names that data use, such as the suffix of its files."""
    programs: tuple[str, ...] = ()
    """Files that building makes and that are run."""
    drop: tuple[str, ...] = ()
    """Files that are of no use once it is built: a program is not to read its own tests."""
    folders: tuple[str, ...] = ()
    """What programs may read beside the system's own folders of programs and libraries."""
    environment: Mapping[str, str] = field(default_factory=dict)
    build_environment: Mapping[str, str] = field(default_factory=dict)
    """The same while it is built."""
    prelude: str = ""
    """What stands before every program."""
    failures: Failures = field(default_factory=Failures)
    libraries: tuple[Library, ...] = ()
    prepared: Prepared | None = None
    headers: Headers | None = None
    batch: Batch | None = None
    locate: Callable[[], Places | None] | None = None
    """Finds the toolchain where looking for its commands is not enough."""
    words: Callable[[str], Mapping[str, str]] | None = None
    """Further words of its commands and files, made of a program's text."""
    own: Callable[[str], Mapping[str, str]] | None = None
    """The same of the tests' text alone, which no answer decides."""
    where: Callable[[str], Where] | None = None
    """Where tests end, if their text decides that."""
    completed: Callable[[str], str] | None = None
    """Puts to the tests' text what calls those that it only defines."""
    build_seconds: float = 60.0
    build_memory_bytes: int = 2 << 30
    runtime_bytes: int = 0
    """What its runtime holds by itself, beside what a program asks for."""
    processes: int = 64
    """Threads and processes of a run, where its runtime starts many."""
    self_test: tuple[str, str, str]
    """A right answer, a wrong one, and the tests that tell them apart."""

    def lacks(self, text: str) -> Library | None:
        """Return the first library that a problem's text wants and that is not here."""
        return next((library for library in self.libraries if library.word in text and not library.places), None)

    def find_fault(self, tests: str) -> str:
        """Return why nothing can be marked by these tests, empty if something can."""
        try:
            self.program("", "", tests, {"nonce": "", "token": ""})
        except ValueError as error:
            return str(error)
        return ""

    def program(self, before: str, answer: str, tests: str, words: Mapping[str, str]) -> Made:
        """Return a program: an answer between what the benchmark puts before and behind it; `words`: `nonce` and `token` of this run.

        Raises:
            ValueError: the tests have no end at which something could be added.
        """
        if self.completed:
            tests = self.completed(tests)
        own = dict(self.words(f"{before}\n{answer}\n{tests}")) if self.words else {}
        own |= self.own(tests) if self.own else {}
        marker, entry = self.ending.entry
        words = {**words, **own, "claim": self.ending.claim_for(tests)}
        words["entry"] = "" if marker in tests else fill_template(entry, words)
        where_ = self.where(tests) if self.where else None
        parts = [self.prelude, before, answer, self.ending.put(tests, words, where_)]
        text = "".join(part if not part or part.endswith("\n") else f"{part}\n" for part in parts)
        start = match.end() if (match := _FIRST.match(text)) else 0
        text = text[:start] + fill_template(self.ending.before, words) + text[start:]
        more = {name: fill_template(content, words) for name, content in self.ending.files.items()}
        return Made({self.source: text, **more}, own)


@dataclass(frozen=True, slots=True)
class Made:
    """A program, as it is written and started."""

    files: Mapping[str, str]
    words: Mapping[str, str]
    """Further words of the language's commands."""
