"""Problem packages: folders and zips of three versions, and those that are made to do harm."""

# ruff: noqa: ISC004 - texts are lines beside one another

import os
import stat
import zipfile

import pytest
from support.exam_kit import answer, rows, write_rows
from support.paths import ROOT

from markbook.benchmarks.benchmark import load_benchmark
from markbook.benchmarks.packages import read_package
from markbook.errors import ConfigError, DataError
from markbook.files import archive as bundle
from markbook.runs.api import exam
from markbook.types import Test

SHARED = ROOT.parent / "shared" / "data" / "problem-packages"
PLAIN = {
    "problem.yaml": "name: Sum\nlimits:\n  memory: 64\n  time_limit: 1.5\nvalidator_flags: float_tolerance 1e-3\n",
    "data/sample/1.in": "1 2\n",
    "data/sample/1.ans": "3\n",
    "data/secret/a.in": "2 2\n",
    "data/secret/a.ans": "4\n",
    "submissions/accepted/a.py": "print(sum(map(int, input().split())))",
    "submissions/wrong_answer/w.py": "print(3)",
}


def folder(tmp_path, files, name="sum"):
    for place, text in files.items():
        path = tmp_path / name / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return tmp_path / name


def zipped(tmp_path, files, top="sum/"):
    path = tmp_path / "sum.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for place, text in files.items():
            archive.writestr(top + place, text)
    return path


@pytest.mark.parametrize("make", [folder, zipped])
def test_a_package_is_a_benchmark_of_one_problem(tmp_path, make):
    found = load_benchmark(make(tmp_path, PLAIN))
    (sample,) = found.samples

    assert (found.format, sample.id, sample.input) == ("problem-package", "sum", "Sum")
    assert sample.tests == (
        Test(stdin="1 2\n", stdout="3\n", checker="icpc:float_tolerance,1e-3"),
        Test(stdin="2 2\n", stdout="4\n", checker="icpc:float_tolerance,1e-3"),
    )
    assert (sample.seconds, sample.memory_bytes) == (1.5, 64 << 20)


def test_a_package_is_examined(tmp_path):
    answers = [answer("sum", PLAIN[f"submissions/{name}"], name) for name in ("accepted/a.py", "wrong_answer/w.py")]
    solutions = write_rows(tmp_path / "answers.jsonl", answers)
    run = exam(zipped(tmp_path, PLAIN), solutions, tmp_path / "out", workers=1, isolation="weak")
    names = sorted(path.parent.name for path in run.folder.glob("*/test_results.jsonl"))

    assert [[test["result"] for test in rows(run, name)[0]["test_details"]] for name in names] == [
        ["AC", "AC"],
        ["AC", "WA"],
    ]


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("type: interactive\nproblem_format_version: 2023-07-draft\n", "has to bring its output validator"),
        ("type: [scoring]\nproblem_format_version: 2025-09\n", "worth at most"),
        ("type: multi-pass\nproblem_format_version: 2025-09\n", "has to bring its output validator"),
        ("validation: custom interactive\n", "has to bring its output validator"),
    ],
)
def test_a_package_that_lacks_what_judges_it_is_refused(tmp_path, said, reason):
    with pytest.raises(DataError, match=reason):
        load_benchmark(folder(tmp_path, {**PLAIN, "problem.yaml": said}))


def test_the_newest_version(tmp_path):
    files = {
        **PLAIN,
        "problem.yaml": "problem_format_version: 2025-09\nname: {en: Sum, sv: Summa}\ntype: scoring\n"
        "limits: {time_multipliers: {ac_to_time_limit: 3}}\n",
        "data/test_group.yaml": "output_validator_args: [case_sensitive]\n",
        "data/secret/group1/1.in": "",
        "data/secret/group1/test_group.yaml": "max_score: 40\nscore_aggregation: min\nrequire_pass: sample\n",
    }
    found = read_package(folder(tmp_path, files))
    secret = found.group.groups[1]

    assert (found.version, found.title, found.is_scored, found.flags) == ("2025-09", "Sum", True, ("case_sensitive",))
    assert found.time_multiplier == 3.0
    assert secret.groups[0].require_pass == ("sample",)
    assert (secret.groups[0].most, secret.groups[0].aggregation, secret.groups[0].tests) == (
        40.0,
        "min",
        ("secret/group1/1",),
    )


def test_submissions_have_the_verdict_that_their_folder_promises(tmp_path):
    found = read_package(
        folder(tmp_path, {**PLAIN, "submissions/time_limit_exceeded/x/a.py": "", "submissions/notes.txt": ""})
    )

    assert [(one.name, one.promised) for one in found.submissions] == [
        ("accepted/a.py", ("AC",)), ("time_limit_exceeded/x", ("TLE",)), ("wrong_answer/w.py", ("WA",)),
    ]  # fmt: skip


@pytest.mark.skipif(not SHARED.exists(), reason="the real packages are not here")
@pytest.mark.parametrize(
    ("name", "version", "interactive", "scored", "cases", "submissions"),
    [
        ("different", "legacy", False, False, 3, 21),
        ("guess", "2023-07-draft", True, False, 10, 12),
        ("hello", "legacy", False, False, 1, 8),
        ("oddecho", "2023-07-draft", False, True, 18, 3),
    ],
)
def test_real_packages_are_read_whole(name, version, interactive, scored, cases, submissions):
    found = read_package(SHARED / name)

    assert (found.version, found.is_interactive, found.is_scored) == (version, interactive, scored)
    assert (len(found.cases), len(found.submissions)) == (cases, submissions)
    assert sorted(found.group.all_tests) == sorted(case.name for case in found.cases)


@pytest.mark.parametrize(
    "name", ["../evil", "/etc/evil", "data/../../evil", "a\\..\\evil", "C:/evil", "data/\nevil", "/".join("a" * 40)]
)
def test_a_name_in_a_zip_that_leads_outside_is_refused(tmp_path, name):
    path = zipped(tmp_path, PLAIN, top="")
    with zipfile.ZipFile(path, "a") as archive:
        info = zipfile.ZipInfo("x")
        info.filename = name
        archive.writestr(info, "x")

    with pytest.raises(DataError, match="leads outside of it: refused"):
        load_benchmark(path)


def test_a_link_in_a_zip_is_refused(tmp_path):
    path = zipped(tmp_path, PLAIN, top="")
    with zipfile.ZipFile(path, "a") as archive:
        info = zipfile.ZipInfo("data/secret/b.in")
        info.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(info, "/etc/passwd")

    with pytest.raises(DataError, match="is a link: refused"):
        load_benchmark(path)


def test_a_bomb_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(bundle, "FREE_BYTES", 1 << 20)
    path = zipped(tmp_path, {**PLAIN, "data/secret/b.in": "0" * (20 << 20)})

    with pytest.raises(DataError, match="refused as a bomb"):
        load_benchmark(path)


def test_a_file_that_is_too_large_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(bundle, "MAX_FILE", 1 << 10)
    files = {**PLAIN, "data/secret/b.in": os.urandom(1 << 10).hex()}

    for make in (folder, zipped):
        with pytest.raises(DataError, match="is larger than"):
            load_benchmark(make(tmp_path, files))


def test_a_damaged_zip_and_one_that_is_no_package_are_refused(tmp_path):
    path = zipped(tmp_path, PLAIN)
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(DataError, match="the zip cannot be read"):
        load_benchmark(path)
    with pytest.raises(DataError, match=r"it has no problem\.yaml"):
        load_benchmark(zipped(tmp_path, {"a": "b", "c": "d"}))


def test_links_of_a_folder_stay_inside_of_it(tmp_path):
    path = folder(tmp_path, PLAIN)
    (path / "data/secret/b.in").symlink_to("a.in")
    (path / "data/secret/b.ans").symlink_to("a.ans")
    assert len(load_benchmark(path).samples[0].tests) == 3

    (path / "data/secret/c.in").symlink_to("/etc/passwd")
    with pytest.raises(DataError, match="leads out of its folder: refused"):
        load_benchmark(path)
    (path / "data/secret/c.in").unlink()
    (path / "data/more").symlink_to("/etc", target_is_directory=True)
    with pytest.raises(DataError, match="leads out of its folder: refused"):
        load_benchmark(path)


def test_a_pipe_among_the_files_is_refused(tmp_path):
    path = folder(tmp_path, PLAIN)
    os.mkfifo(path / "data/secret/c.in")

    with pytest.raises(DataError, match="neither a file nor a folder: refused"):
        load_benchmark(path)


@pytest.mark.parametrize(
    ("place", "text", "reason"),
    [
        ("problem.yaml", "problem_format_version: 3000-01\n", "unknown problem_format_version"),
        ("problem.yaml", "- a\n", "this is not a mapping"),
        ("problem.yaml", "a: &a [x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\n"
         "d: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: [*e,*e,*e,*e,*e,*e,*e,*e,*e,*e]\n", "alias"),
        ("problem.yaml", "a: !!python/object/apply:os.system [echo]\n", "tag"),
        ("data/testdata.yaml", "grader_flags: nonsense\n", "no flag 'nonsense'"),
        ("data/testdata.yaml", "range: a lot\n", "could not convert|not two numbers"),
        ("data/testdata.yaml", "on_reject: explode\n", "neither break nor continue"),
    ],
)  # fmt: skip
def test_yaml_that_says_what_cannot_be_is_refused_with_its_place(tmp_path, place, text, reason):
    path = folder(tmp_path, {**PLAIN, place: text})

    with pytest.raises(ConfigError, match=reason) as caught:
        load_benchmark(path)
    assert place in caught.value.at


def test_a_requirement_that_names_no_group_is_refused_with_its_place(tmp_path):
    made = {**PLAIN, "problem.yaml": "problem_format_version: 2025-09\nname: p\n"}
    path = folder(tmp_path, {**made, "data/secret/test_group.yaml": "require_pass: 7\n"})

    with pytest.raises(ConfigError, match="'require_pass' is not a list") as caught:
        load_benchmark(path)
    assert "test_group.yaml" in caught.value.at


TOLERANT = {
    **PLAIN,
    "data/secret/g1/1.in": "1 3",
    "data/secret/g1/1.ans": "0.3333",
    "data/secret/g2/1.in": "1 3",
    "data/secret/g2/1.ans": "0.3333",
    "submissions/accepted/a.py": "print(0.33330001)",
}


@pytest.mark.parametrize(
    ("version", "file", "text"),
    [
        ("2025-09", "data/secret/g1/test_group.yaml", "output_validator_args: [float_tolerance, 1e-4]\n"),
        ("2025-09", "data/secret/g1/1.yaml", "output_validator_args: [float_tolerance, 1e-4]\n"),
        ("legacy", "data/secret/g1/testdata.yaml", "output_validator_flags: float_tolerance 1e-4\n"),
    ],
)
def test_flags_of_the_validator_in_a_group_are_those_of_its_tests(tmp_path, version, file, text):
    head = "name: Sum\n" if version == "legacy" else "problem_format_version: 2025-09\nname: Sum\n"
    found = read_package(folder(tmp_path, {**TOLERANT, "problem.yaml": head, file: text}))

    rules = {case.name: test.checker for case, test in zip(found.cases, found.sample().tests, strict=True)}

    assert "1e-4" in rules["secret/g1/1"] or "0.0001" in rules["secret/g1/1"]
    assert rules["secret/g2/1"] == rules["sample/1"]
    assert rules["secret/g2/1"] != rules["secret/g1/1"]


def test_flags_of_a_group_reach_a_validator_of_the_packages_own(tmp_path):
    validator = "import sys\nsys.exit(42 if sys.stdin.read().strip() == sys.argv[4] else 43)\n"
    files = {
        **PLAIN,
        "problem.yaml": "problem_format_version: 2025-09\nname: Sum\n",
        "output_validator/v.py": validator,
        "data/test_group.yaml": "output_validator_args: ['3']\n",
        "data/secret/g1/1.in": "4 5",
        "data/secret/g1/1.ans": "",
        "data/secret/g1/test_group.yaml": "output_validator_args: ['9']\n",
    }
    files = {
        name: text
        for name, text in files.items()
        if not name.startswith(("submissions", "data/secret/1", "data/secret/2"))
    }
    files |= {"submissions/accepted/a.py": "print(sum(map(int, input().split())))"}

    sample = read_package(folder(tmp_path, files)).sample()

    assert sample.judge.flags == ("3",)
    assert [test.judge_flags for test in sample.tests][-1] == ("9",)


@pytest.mark.parametrize(
    ("name", "text"), [("data/secret/g1/1.yaml", "args: [--fast]\n"), ("data/secret/g1/1.files/x", "y")]
)
def test_a_test_that_gives_a_program_more_than_its_input_is_refused(tmp_path, name, text):
    files = {**TOLERANT, "problem.yaml": "problem_format_version: 2025-09\nname: Sum\n", name: text}

    with pytest.raises(ConfigError, match="beside its standard input"):
        read_package(folder(tmp_path, files))
