"""The output validators of a problem package: which files each is made of, and what judges with them."""

from __future__ import annotations

import hashlib
import posixpath
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Literal

from markbook.benchmarks.problems import (
    MAX_SECONDS,
    MIB,
    Benchmark,
    RowError,
    check_test_limits,
    program_sample,
    read_number,
)
from markbook.config.tree import MAX_BYTES, parse_tree, plain
from markbook.errors import ConfigError, DataError
from markbook.files.archive import Bundle, open_bundle
from markbook.programs.checkers import Aggregation, Group, Judge, Result, largest, rename_tests, with_flags
from markbook.sandbox.guest.examination.rules import icpc_name
from markbook.types import Sample, Test

SCRIPTS = ("build", "run")
"""Of a program that brings how it is made and started, instead of being in a language that is known."""
_LANGUAGES = {".py": "python", ".cc": "cpp", ".cpp": "cpp", ".cxx": "cpp", ".c": "c", ".java": "java", ".rs": "rust"}
"""The languages of output validators, by the endings of their files."""


def group_programs(names: Sequence[str]) -> list[dict[str, str]]:
    """Return the files of each program in a folder: by their names in it, their names in the package.

    A program is a folder, or a file that lies beside such folders. What is not a source and lies there belongs to each file.
    """
    alone: dict[str, str] = {}
    folders: dict[str, dict[str, str]] = {}
    for name in names:
        _, first, *rest = name.split("/")
        if rest:
            folders.setdefault(first, {})["/".join(rest)] = name
        else:
            alone[first] = name
    # With a `build` or `run` script among them the folder itself is one program, and its parts must stay together.
    if any(script in alone for script in SCRIPTS):
        return [{name.partition("/")[2]: name for name in names}]
    sources = [name for name in alone if PurePosixPath(name).suffix.lower() in _LANGUAGES]
    shared = {name: path for name, path in alone.items() if name not in sources}
    programs = {**folders, **{name: {name: alone[name], **shared} for name in sources}}
    # A folder without any known source is still one program, so that its files are named in the error of `_judge`.
    return [programs[name] for name in sorted(programs)] or [alone]


def _judge(bundle: Bundle, files: Mapping[str, str]) -> Judge:
    if any(script in files for script in SCRIPTS):
        # A script may refer to its files by their paths, so folders are kept; a compiler gets all files side by side.
        own = tuple((name, bundle.read(path)) for name, path in files.items())
        return Judge("bash", own, "icpc", is_scripted=True)
    flat = tuple((PurePosixPath(name).name, bundle.read(path)) for name, path in files.items())
    endings = {PurePosixPath(name).suffix.lower() for name, _ in flat}
    language = next((candidate for ending, candidate in _LANGUAGES.items() if ending in endings), None)
    if language is None or len(dict(flat)) < len(flat):
        # Two files of one name in different folders would overwrite one another side by side.
        raise DataError(
            "the output validator is in none of the languages that are built here",
            at=bundle.at(next(iter(files.values()))),
            hint=f"its files end in one of {', '.join(_LANGUAGES)}, or it has the scripts build and run",
        )
    return Judge(language, flat, "icpc")


# Problem packages of the ICPC and Kattis, as folders or zips: versions legacy, 2023-07-draft and 2025-09.
#
# Nothing of a package is run here. What is read is its `problem.yaml`, its tests with the groups that they are in, and the
# authors' submissions with the verdict that their folder promises.

Version = Literal["legacy", "2023-07-draft", "2025-09"]
FORMAT = "problem-package"
VERSIONS: tuple[Version, ...] = ("legacy", "2023-07-draft", "2025-09")
PROMISED: Mapping[str, tuple[Result, ...]] = {
    "accepted": ("AC",),
    "slow_accepted": ("AC", "TLE"),
    "partially_accepted": ("AC", "WA", "TLE", "RTE", "MLE", "OLE"),
    "wrong_answer": ("WA",),
    "time_limit_exceeded": ("TLE",),
    "run_time_error": ("RTE", "MLE"),
    "memory_limit_exceeded": ("MLE", "RTE"),
    "output_limit_exceeded": ("OLE",),
    # What kind of failure is left open: the folder only promises that the program is not accepted.
    "rejected": ("WA", "TLE", "RTE", "MLE", "OLE"),
    "brute_force": ("TLE", "MLE", "RTE"),
}
"""What a submission may get, by its folder. A partial one gets less than all points."""
_VALIDATORS = {"legacy": "output_validators", "2023-07-draft": "output_validator", "2025-09": "output_validator"}


@dataclass(frozen=True, slots=True)
class PackageTest:
    """One test of a package: names of files in it."""

    name: str
    """Below `data`, without its ending, such as `secret/group1/01`."""
    input: str
    answer: str
    """Empty where there is none, as interactive problems may have it."""
    flags: tuple[str, ...] = ()
    """Of its output validator: those of its group, else of the groups around that."""


@dataclass(frozen=True, slots=True)
class Submission:
    """An author's program."""

    name: str
    files: tuple[str, ...]
    """One, or those of its folder."""
    promised: tuple[Result, ...]
    is_partial: bool = False


@dataclass(frozen=True, slots=True)
class Package:
    """A problem package as it was read."""

    bundle: Bundle
    name: str
    title: str
    version: Version
    is_interactive: bool
    is_scored: bool
    passes: int
    """How often a program is run on one test; 1 unless the problem has several passes."""
    validator: tuple[str, ...]
    """The files of its own output validators; empty where the default one compares."""
    flags: tuple[str, ...]
    """For the output validator."""
    seconds: float | None
    """The time limit, where the package states it; else it follows from the accepted submissions."""
    time_multiplier: float
    """The limit is this times what the slowest accepted submission takes."""
    memory_bytes: int | None
    output_bytes: int | None
    cases: tuple[PackageTest, ...]
    group: Group
    submissions: tuple[Submission, ...]

    def sample(self) -> Sample:
        """Return the problem of a package.

        Raises:
            ConfigError: its judge cannot be called, or the flags of the default one are unknown.
        """
        tests = tuple(map(self._test, self.cases))
        # A sample knows its tests by their number, a group by the name that the package gives them.
        names = {case.name: str(index) for index, case in enumerate(self.cases)}
        return replace(
            program_sample(
                self.name,
                self.title,
                tests,
                str(self.bundle.path),
                seconds=self.seconds,
                memory_bytes=self.memory_bytes,
            ),
            judge=self._judge(),
            group=rename_tests(self.group, names) if self.is_scored else None,
        )

    def _test(self, case: PackageTest) -> Test:
        stdin, stdout = (
            # Tests may hold bytes that are not UTF-8; `surrogateescape` carries them through a text without loss.
            _content(self.bundle, name).decode("utf-8", "surrogateescape") if name else ""
            for name in (case.input, case.answer)
        )
        if self.validator:
            # None is "as the judge has them": flags are stored with a test only where its group changes them.
            return Test(stdin=stdin, stdout=stdout, judge_flags=None if case.flags == self.flags else case.flags)
        return Test(stdin=stdin, stdout=stdout, checker=icpc_name(case.flags))

    def _judge(self) -> Judge | None:
        """Return the package's own validator, None where the default one compares."""
        if not self.validator:
            if self.is_interactive or self.passes > 1:
                raise DataError(
                    "a problem that is interactive or has several passes has to bring its output validator",
                    at=str(self.bundle.path),
                )
            return None
        judges = [_judge(self.bundle, files) for files in group_programs(self.validator)]
        # One program has one standard input and output, so only one validator can talk to it.
        if len(judges) > 1 and (self.is_interactive or self.passes > 1):
            raise DataError(
                f"{len(judges)} output validators cannot all talk to one program, or ask it for another pass",
                at=self.bundle.at(self.validator[0]),
                hint="an interactive or multi-pass problem has one",
            )
        first, *others = (
            replace(judge, flags=self.flags, is_interactive=self.is_interactive, passes=self.passes) for judge in judges
        )
        return replace(first, others=tuple(others))


def read_package(path: Path) -> Package:
    """Return the package in a folder or a zip.

    Raises:
        DataError: it is none, a name or link in it leads outside, or it is too large.
        ConfigError: its YAML says what cannot be.
    """
    bundle = open_bundle(path)
    own_name = path.resolve().name if path.name in ("", "..") else path.name  # `markbook exam .` in the folder itself
    if "problem.yaml" not in bundle:
        raise DataError("this is not a problem package: it has no problem.yaml", at=str(path))
    about = _yaml(bundle, "problem.yaml")
    stated = about.get("problem_format_version", "legacy")
    version = next((name for name in VERSIONS if name == stated), None)
    if version is None:
        raise ConfigError(
            f"unknown problem_format_version {str(stated)[:40]!r}",
            at=bundle.at("problem.yaml"),
            hint=f"one of {', '.join(VERSIONS)}",
        )
    # what sort of problem it is, and the flags of its validator, where `problem.yaml` says them
    type_field = about.get("type") or "pass-fail"
    kinds = set(map(str, type_field) if isinstance(type_field, list) else str(type_field).split())
    flags: tuple[str, ...] = ()
    if version == "legacy":
        # A legacy package says `validation: custom score interactive`; later versions say the same words under `type`.
        kinds |= {"scoring" if word == "score" else word for word in str(about.get("validation") or "default").split()}
        flags = tuple(_words(about.get("validator_flags")))
    title = about.get("name")
    if isinstance(title, Mapping):  # by language
        title = title.get("en") or next(iter(title.values()), None)
    limits = about.get("limits")
    limits = limits if isinstance(limits, Mapping) else {}
    # A package of a later version may still use the older folder's name.
    custom = tuple(bundle.below(_VALIDATORS[version])) or tuple(bundle.below("output_validators"))
    cases = _cases(bundle, version, flags)
    if not cases:
        raise DataError("the package has no tests below data", at=str(path))
    return Package(
        bundle=bundle,
        name=own_name.removesuffix(".zip"),
        title=title if isinstance(title, str) else own_name,
        version=version,
        is_interactive="interactive" in kinds,
        is_scored="scoring" in kinds,
        passes=min(_MOST_PASSES, max(1, int(_limit(limits, "validation_passes", 2)))) if "multi-pass" in kinds else 1,
        # A legacy package may hold a validator that it does not use: there only `validation` says whether it counts.
        validator=custom if version != "legacy" or kinds & {"custom", "interactive"} else (),
        flags=_flags_in(bundle, "", version, flags),
        seconds=_seconds(bundle, limits),
        time_multiplier=_time_multiplier(limits, version),
        memory_bytes=_mib(limits, "memory"),
        output_bytes=_mib(limits, "output"),
        cases=cases,
        group=_group(bundle, "", [case.name for case in cases], version),
        submissions=_submissions(bundle),
    )


_LONGEST_LINK = 200
_MOST_PASSES = 1000


def _yaml(bundle: Bundle, name: str) -> dict[str, object]:
    content = bundle.read(name)
    if len(content) > MAX_BYTES:
        raise ConfigError(f"larger than {MAX_BYTES >> 20} MiB", at=bundle.at(name))
    # A byte order mark is dropped, and a wrong byte must not stop a package whose other keys are sound.
    parsed_yaml = plain(parse_tree(content.decode("utf-8-sig", "replace"), bundle.at(name)))
    if parsed_yaml is not None and not isinstance(parsed_yaml, dict):
        raise ConfigError("this is not a mapping", at=bundle.at(name))
    return parsed_yaml or {}


def _content(bundle: Bundle, name: str) -> bytes:
    """Return a file of a test; where it is only the path that a link had before it was checked out, the file meant."""
    content = bundle.read(name)
    path = content.decode("utf-8", "replace").strip()
    # On a system without symbolic links git writes the link's target into the file: one short line with the same
    # ending.
    if "\n" in path or len(path) > _LONGEST_LINK or PurePosixPath(path).suffix != PurePosixPath(name).suffix:
        return content
    meant = posixpath.normpath(posixpath.join(posixpath.dirname(name), path))
    # The target is looked up in the package only, so such a line can never name a file outside it.
    return bundle.read(meant) if meant != name and meant in bundle else content


def _words(value: object) -> list[str]:
    if isinstance(value, list):
        return [str(word) for word in value]
    try:
        return shlex.split(str(value or ""))
    # An apostrophe in a flag is not closed as the shell wants it: then the words are taken as they stand.
    except ValueError:
        return str(value).split()


def _flags_in(bundle: Bundle, folder: str, version: Version, always: tuple[str, ...]) -> tuple[str, ...]:
    """Return the output validator's flags in a folder below `data`: its own, else those of the nearest one around it.

    `always` are those of `problem.yaml`, which stand before the others.
    """
    file, key = (
        ("test_group.yaml", "output_validator_args")
        if version == "2025-09"
        else ("testdata.yaml", "output_validator_flags")
    )
    parts = folder.split("/") if folder else []
    # From the innermost folder outwards, the first file that has the key wins, even where it says that there are no
    # flags.
    for depth in range(len(parts), -1, -1):
        name = "/".join(["data", *parts[:depth], file])
        about = _yaml(bundle, name) if name in bundle else {}
        if key in about:
            return (*always, *_words(about[key]))
    return always


def _limit(limits: Mapping[str, object], key: str, usual: float) -> float:
    number = read_number(limits.get(key))
    return number if number is not None and number > 0 else usual


def _mib(limits: Mapping[str, object], key: str) -> int | None:
    number = read_number(limits.get(key))
    # Above 1 TiB it is not taken for a limit, and without one the default holds.
    return int(number * MIB) if number is not None and 0 < number < 1 << 20 else None


def _time_multiplier(limits: Mapping[str, object], version: Version) -> float:
    # Each version of the format has a default of its own.
    if version == "legacy":
        return _limit(limits, "time_multiplier", 5.0)
    multipliers = limits.get("time_multipliers")
    return _limit(multipliers if isinstance(multipliers, Mapping) else {}, "ac_to_time_limit", 2.0)


def _seconds(bundle: Bundle, limits: Mapping[str, object]) -> float | None:
    number = read_number(limits.get("time_limit"))
    if number is None and ".timelimit" in bundle:
        try:
            number = float(bundle.read(".timelimit")[:40])
        except ValueError:
            number = None
    return number if number is not None and 0 < number <= MAX_SECONDS else None


_UNKNOWN_OF_TESTS = ("args", "files")
"""What a test of 2025-09 may give a program beside its standard input, and what nothing here gives it."""


def _cases(bundle: Bundle, version: Version, always: tuple[str, ...]) -> tuple[PackageTest, ...]:
    """Return the tests by name, sample before secret; ConfigError for one with arguments or files beside its input."""
    cases = []
    flags: dict[str, tuple[str, ...]] = {}
    names = bundle.below("data")
    with_files = {name.partition(".files/")[0] for name in names if ".files/" in name and version == "2025-09"}
    for name in names:
        stem, _, ending = name.rpartition(".")
        if ending == "in":
            answer = f"{stem}.ans" if f"{stem}.ans" in bundle else ""
            case = stem.removeprefix("data/")
            folder = case.rpartition("/")[0]
            if folder not in flags:
                flags[folder] = _flags_in(bundle, folder, version, always)
            own = flags[folder]
            about = _yaml(bundle, f"{stem}.yaml") if version == "2025-09" and f"{stem}.yaml" in bundle else {}
            beside = next((key for key in _UNKNOWN_OF_TESTS if about.get(key)), "")
            # Refused and not ignored: run without them, a right program would be marked wrong.
            if beside or stem in with_files:
                what = "arguments" if beside == "args" else "files"
                raise ConfigError(
                    f"this test gives the program {what} beside its standard input, which is not supported",
                    at=bundle.at(f"{stem}.yaml" if beside else f"{stem}.files"),
                )
            if "output_validator_args" in about:
                own = (*always, *_words(about["output_validator_args"]))
            cases.append(PackageTest(case, name, answer, own))
    return tuple(cases)


def _group(bundle: Bundle, folder: str, names: list[str], version: Version) -> Group:
    """Return the group of a folder below `data`, with those in it."""
    depth = len(folder.split("/")) if folder else 0
    inner: dict[str, list[str]] = {}
    own = []
    for name in names:
        parts = PurePosixPath(name).parts
        if len(parts) > depth + 1:
            inner.setdefault("/".join(parts[: depth + 1]), []).append(name)
        else:
            own.append(name)
    groups = tuple(_group(bundle, below, inside, version) for below, inside in inner.items())
    group = Group(folder, tuple(own), groups)
    name = "test_group.yaml" if version == "2025-09" else "testdata.yaml"
    path = "/".join(part for part in ("data", folder, name) if part)
    about = _yaml(bundle, path) if path in bundle else {}
    try:
        return _modern(group, about) if version == "2025-09" else _classic(group, about)
    except ValueError as error:
        raise ConfigError(str(error), at=bundle.at(path)) from None


def _classic(group: Group, about: Mapping[str, object]) -> Group:
    low, high = group.low, group.high
    if about.get("range") is not None:
        words = str(about["range"]).split()
        # Raised as ValueError, as `float` does below: `_group` adds the file in which it stands.
        if len(words) != 2:
            raise ValueError("'range' is not two numbers")
        low, high = float(words[0]), float(words[1])
    on_reject = about.get("on_reject", "break")
    if on_reject not in ("break", "continue"):
        raise ValueError("'on_reject' is neither break nor continue")
    changed = replace(
        group,
        on_reject=on_reject,
        low=low,
        high=high,
        accept_score=_score(about, "accept_score", 1.0),
        reject_score=_score(about, "reject_score", 0.0),
    )
    return with_flags(changed, str(about.get("grader_flags") or ""))


def _modern(group: Group, about: Mapping[str, object]) -> Group:
    kinds: Mapping[str, Aggregation] = {"pass-fail": "pass-fail", "sum": "sum", "min": "min"}
    # The defaults of 2025-09: a group of tests is passed or failed, a group of groups adds up.
    usual = "pass-fail" if group.tests else "sum"
    aggregation = kinds.get(str(about.get("score_aggregation", usual)))
    if aggregation is None:
        raise ValueError("'score_aggregation' is none of pass-fail, sum, min")
    required = about.get("require_pass") or []
    required = [required] if isinstance(required, str) else required
    if not isinstance(required, list):
        raise ValueError("'require_pass' is not a list of groups")  # noqa: TRY004 - the caller says in which file
    most = about.get("max_score")
    return replace(
        group,
        aggregation=aggregation,
        most=None if most in (None, "unbounded") else _score(about, "max_score", 0.0),
        require_pass=tuple(str(name) for name in required),
    )


def _score(about: Mapping[str, object], key: str, usual: float) -> float:
    value = about.get(key, usual)
    number = read_number(float(value) if isinstance(value, str) else value)
    if number is None:
        raise ValueError(f"{key!r} is not a number")
    return number


def _submissions(bundle: Bundle) -> tuple[Submission, ...]:
    submissions: dict[str, list[str]] = {}
    for name in bundle.below("submissions"):
        parts = name.split("/")
        # A folder of any other name promises nothing, so what lies in it cannot be checked.
        if len(parts) > 2 and parts[1] in PROMISED:
            submissions.setdefault("/".join(parts[:3]), []).append(name)
    return tuple(
        Submission(name.removeprefix("submissions/"), tuple(files), PROMISED[kind], kind == "partially_accepted")
        for name, files in submissions.items()
        if (kind := name.split("/")[1])
    )


def package_benchmark(path: Path) -> Benchmark:
    """Return the benchmark of one problem that a package is.

    Raises:
        DataError: its tests are too large, nothing bounds its score, or its validator cannot be built; also as `read_package`.
    """
    package = read_package(path)
    try:
        sample = package.sample()
        check_test_limits(sample.tests)
    except RowError as error:
        raise DataError(str(error), at=str(path)) from None
    # Without an upper end a score cannot become a share from 0 to 1, which is what all other problems give.
    if sample.group is not None and largest(sample.group, is_judged=sample.judge is not None) is None:
        raise DataError(
            "nothing says how much the problem is worth at most, so no share of it can be earned",
            at=package.bundle.at("data"),
            hint="give the test groups a 'range' (legacy, 2023-07-draft) or a 'max_score' (2025-09)",
        )
    digest = hashlib.sha256()
    package.bundle.digest(digest)
    return Benchmark(package.name, FORMAT, (sample,), (), digest.hexdigest(), files=(str(path),))
