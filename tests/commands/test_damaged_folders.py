"""Whatever is in a run's folder, a command that reads it ends with an exit code and a sentence."""

from __future__ import annotations

import json
import shutil

import pytest
from click.testing import CliRunner
from support.review_kit import papers, reviews

from markbook.cli import cli
from markbook.errors import MarkbookError
from markbook.store.journal import from_line, to_line

COMMANDS = {
    "compare": ("compare", "RUN"), "report": ("report", "RUN", "--output", "OUT"),
    "every-eval-ever": ("report", "RUN", "--format", "every-eval-ever", "--output", "OUT"),
    "csv": ("report", "RUN", "--format", "csv", "--output", "OUT"), "json": ("report", "RUN", "--format", "json", "--output", "OUT"),
    "junit": ("report", "RUN", "--format", "junit", "--output", "OUT"), "site": ("site", "RUN", "-o", "OUT"),
    "noise": ("noise", "RUN"), "show": ("show", "RUN", "ITEM"),
}  # fmt: skip
WRONG = (None, 5, "x", [], {}, [None], {"x": None}, True, 1e308, [[]], "\ud800")
DAMAGES = {
    "garbage": b"\x00\xff\xfe garbage\n" * 50, "empty": b"", "newline": b"\n", "null": b"null\n", "list": b"[1, 2]\n",
    "object": b"{}\n", "nested": b"[" * 100_000, "number": b"1e999\n", "not utf-8": b'{"a": "\xff"}\n',
}  # fmt: skip


def invoke(*args):
    return CliRunner().invoke(cli, [str(arg) for arg in args], catch_exceptions=True)


def marks(folder, kind):
    """Make a finished run of a kind and return its folder and one of its items."""
    if kind == "import":
        path = folder / "m.csv"
        path.write_text(
            "item,model,score\n" + "".join(f"q{at},{model},{at % 2}\n" for at in range(4) for model in "AB")
        )
        result = invoke("import", path, "--output", folder / "runs")
    elif kind == "review":
        words = ("--papers", papers(folder), "--reviews", reviews(folder), "--judge", "off")
        result = invoke("review", *words, "--output", folder / "runs")
    elif kind == "run":
        (folder / "d.jsonl").write_text("".join(json.dumps({"q": f"{at}?", "a": "x"}) + "\n" for at in range(4)))
        (folder / "t.yaml").write_text(
            "name: t\ndata: {path: d.jsonl}\nprompt: '{{ q }}'\nreference: '{{ a }}'\nmetrics: [exact_match, edit_distance]\n"
        )
        said = [{"doc_id": at, "model": "A", "prediction": "xy"[at % 2]} for at in range(4)]
        (folder / "said.jsonl").write_text("".join(json.dumps(row) + "\n" for row in said))
        result = invoke("run", folder / "t.yaml", "--predictions", folder / "said.jsonl", "--output", folder / "runs")
    else:
        rows = [{"task_id": f"q{at}", "prompt": "p", "entry_point": "f", "canonical_solution": "def f(): return 1", "test": "assert f() == 1"}
                for at in range(2)]  # fmt: skip
        said = [
            {"task_id": f"q{at}", "model": model, "completion": f"def f(): return {at}"}
            for at in range(2)
            for model in "AB"
        ]
        (folder / "b.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        (folder / "s.jsonl").write_text("".join(json.dumps(row) + "\n" for row in said))
        result = invoke("exam", "--benchmark", folder / "b.jsonl", "--solutions", folder / "s.jsonl", "--workers", 1,
                        "--isolation", "weak", "--output", folder / "runs")  # fmt: skip
    assert result.exit_code in (0, 3), (result.output, result.exception)
    (found,) = (folder / "runs").glob("*/run.json")
    return found.parent


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    return {kind: marks(tmp_path_factory.mktemp(kind), kind) for kind in ("import", "run", "exam", "review")}


def read_by_all(run, out):
    """Run every reading command, and return those that ended in neither success nor a sentence."""
    bad = []
    for name, args in COMMANDS.items():
        shutil.rmtree(out, ignore_errors=True)
        words = {"RUN": run, "OUT": out, "ITEM": "q1"}
        result = invoke(*(words.get(arg, arg) for arg in args))
        if result.exception is not None and not isinstance(result.exception, SystemExit | MarkbookError):
            bad.append((name, repr(result.exception)[:200]))
        elif result.exception is not None and not (str(result.exception) or result.output):
            bad.append((name, "no word"))
    return bad


def copies(run, tmp_path):
    """Yield a copy of a run for each of its files, and the file in it."""
    for path in sorted(run.rglob("*")):
        if path.is_file():
            target = tmp_path / "copy"
            shutil.rmtree(target, ignore_errors=True)
            shutil.copytree(run, target)
            yield target, target / path.relative_to(run)


@pytest.mark.parametrize("kind", ["import", "run", "exam"])
@pytest.mark.parametrize("damage", [*DAMAGES, "cut", "folder", "gone"])
def test_each_file_in_place_of_which_something_stands(runs, tmp_path, kind, damage):
    for run, path in copies(runs[kind], tmp_path):
        if path.suffix not in (".json", ".jsonl") and path.name != "lock":
            continue  # nobody reads reports back
        content = path.read_bytes()
        path.unlink()
        if damage == "folder":
            path.mkdir()
        elif damage != "gone":
            path.write_bytes(content[: len(content) // 2] if damage == "cut" else DAMAGES[damage])

        assert read_by_all(run, tmp_path / "out") == [], path.relative_to(run)


def places(record):
    """Yield the path of keys to each value of a record, two levels deep."""
    for name, value in record.items():
        yield (name,)
        if isinstance(value, dict):
            yield from ((name, inner) for inner in value)


@pytest.mark.parametrize("kind", ["import", "run", "exam", "review"])
def test_each_value_of_run_json_of_another_type(runs, tmp_path, kind, part):
    original = json.loads((runs[kind] / "run.json").read_text())
    run = tmp_path / "copy"
    shutil.copytree(runs[kind], run)
    for number, place in enumerate(part.of(list(places(original)), 3, key=f"{kind} {{}}".format)):
        record = json.loads(json.dumps(original))
        inner = record
        for name in place[:-1]:
            inner = inner[name]
        inner[place[-1]] = WRONG[number % len(WRONG)]
        (run / "run.json").write_text(json.dumps(record))

        assert read_by_all(run, tmp_path / "out") == [], (place, WRONG[number % len(WRONG)])


def test_an_untouched_run_is_read_by_all(runs, tmp_path):
    for kind, run in runs.items():
        for name, args in COMMANDS.items():
            words = {"RUN": run, "OUT": tmp_path / "out" / name, "ITEM": "q1"}
            result = invoke(*(words.get(arg, arg) for arg in args))
            needs_two_models = name == "compare" and kind in ("run", "review")
            if name not in ("show", "noise") and not needs_two_models:  # those two need attempts
                assert result.exit_code in (0, 3), (name, result.output, result.exception)


def test_a_review_without_any_score_makes_a_site(runs, tmp_path):
    result = invoke("site", runs["review"], "-o", tmp_path / "out")

    assert result.exit_code == 0, (result.output, result.exception)


def unsealed(run, target):
    """Copy a run as an earlier version left it: without what its published files held."""
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(run, target)
    record = json.loads((target / "run.json").read_text())
    record.pop("published", None)
    (target / "run.json").write_text(json.dumps(record))
    return target


@pytest.mark.parametrize("kind", ["import", "run", "review"])
@pytest.mark.parametrize("name", ["results.jsonl", "summary.json"])
def test_each_value_of_a_published_file_of_another_type(runs, tmp_path, kind, name, part):
    original = (runs[kind] / name).read_text()
    first, _, rest = original.partition("\n") if name == "results.jsonl" else (original, "", "")
    record = json.loads(first)
    for number, place in enumerate(part.of(list(places(record)), 3)):
        damaged = json.loads(first)
        inner = damaged
        for key in place[:-1]:
            inner = inner[key]
        inner[place[-1]] = WRONG[number % len(WRONG)]
        run = unsealed(runs[kind], tmp_path / "copy")
        (run / name).write_text(json.dumps(damaged) + "\n" + rest)

        assert read_by_all(run, tmp_path / "out") == [], (place, WRONG[number % len(WRONG)])


@pytest.mark.parametrize("half", ["\\ud800", "\\uD800", "\\uDfff"])
def test_half_a_character_is_said_however_it_is_spelled(runs, tmp_path, half):
    run = unsealed(runs["run"], tmp_path / "copy")
    first, _, rest = (run / "results.jsonl").read_text().partition("\n")
    row = json.loads(first)
    row["model"] = "MODEL"
    (run / "results.jsonl").write_text(json.dumps(row).replace("MODEL", half) + "\n" + rest)

    assert read_by_all(run, tmp_path / "out") == []


@pytest.mark.parametrize(
    ("place", "value"),
    [
        *((("tier1", "cosine_score"), value) for value in ("abc", [1], {"a": 1}, True, 10**400, float("nan"))),
        (("tier1", "execution_time"), "soon"),
        (("tier2", "details"), 5),
        (("tier2", "details"), {"helpfulness": {"marks": 5}}),
        (("tier3", "missing"), {"overall_score": {"kind": "zz", "detail": ""}}),
        (("composite", "composite_score"), "abc"),
        (("composite", "metric_scores"), {"time_taken": "fast"}),
        (("own_recommendation", "difference"), "far"),
    ],
)
def test_a_number_of_a_tier_that_is_none_is_said_with_its_place(runs, tmp_path, place, value):
    run = unsealed(runs["review"], tmp_path / "copy")
    first, _, rest = (run / "results.jsonl").read_text().partition("\n")
    row = json.loads(first)
    row[place[0]][place[1]] = value
    (run / "results.jsonl").write_text(json.dumps(row) + "\n" + rest)

    for args in (("report", run, "--output", tmp_path / "out"), ("compare", run, run), ("show", run, row["paper_id"])):
        result = invoke(*args)

        assert isinstance(result.exception, MarkbookError), (args, result.output, result.exception)
        assert f"'{'.'.join(place)}" in str(result.exception), args
        assert "is not what stands there" in str(result.exception), args


def test_a_similarity_beyond_its_range_is_not_compared(runs, tmp_path):
    run = unsealed(runs["review"], tmp_path / "copy")
    first, _, rest = (run / "results.jsonl").read_text().partition("\n")
    row = json.loads(first)
    row["tier1"]["cosine_score"] = 5.0
    (run / "results.jsonl").write_text(json.dumps(row) + "\n" + rest)

    result = invoke("compare", run, run, "--metric", "tier1.cosine_score")

    assert "a value is 5.0, outside 0..1" in str(result.exception)


def with_tier1(run, copy, name, value):
    """Copy a review whose journal says this of its first review's text, and is whole by its checksums."""
    run = unsealed(run, copy)
    record = json.loads((run / "run.json").read_text())
    record.pop("journal")
    (run / "run.json").write_text(json.dumps(record))
    path = next((run / "journal").iterdir())
    rows = [from_line(line) for line in path.read_bytes().splitlines(keepends=True)]
    tier1 = next(row for row in rows if row.kind == "tier1")
    tier1.data[name] = value
    path.write_bytes(b"".join(to_line(row.kind, row.key, row.data) for row in rows))
    return run


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("references", [{"cosine": "abc"}], "references[0].cosine"),
        ("references", 5, "references"),
        ("seconds", "soon", "seconds"),
        ("reason", {"kind": "zz", "detail": ""}, "reason.kind"),
        ("human_recommendations", ["four"], "human_recommendations[0]"),
        ("scale", 5, "scale"),
    ],
)
def test_a_whole_row_of_a_journal_that_is_none_of_a_review_is_said(runs, tmp_path, name, value, said):
    run = with_tier1(runs["review"], tmp_path / "copy", name, value)

    result = invoke("review", "--rescore", run, "--output", tmp_path / "out")

    assert isinstance(result.exception, MarkbookError), (result.output, result.exception)
    assert f"the journal is damaged: '{said}' in the tier1 of " in str(result.exception)


@pytest.mark.parametrize("name", ["scale", "recommendation_scale"])
@pytest.mark.parametrize("ends", [[3.0, 3.0], [5.0, 1.0], [1.0, 2.0, 3.0], []])
def test_a_scale_of_a_journal_without_room_between_its_ends_is_as_if_it_was_not_stated(runs, tmp_path, name, ends):
    run = with_tier1(runs["review"], tmp_path / "copy", name, ends)

    result = invoke("review", "--rescore", run, "--output", tmp_path / "out")

    assert result.exception is None, result.exception
    rows = next((tmp_path / "out").glob("*/results.jsonl")).read_text().splitlines()
    own = next(row["own_recommendation"] for row in map(json.loads, rows) if row["paper_id"] == "one")
    if name == "scale":
        assert own["missing"]["human"]["detail"] == "the venue's scale is not known"
    else:
        assert own["own"] == 0.75  # 4 on the usual 1 to 5


@pytest.mark.parametrize("name", ["judge_models", "papers_read"])
@pytest.mark.parametrize("value", [5, "x", [5], [[]]])
def test_a_record_by_which_nothing_can_be_scored_again_is_said_to_be_damaged(runs, tmp_path, name, value):
    run = tmp_path / "copy"
    shutil.copytree(runs["review"], run)
    record = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps({**record, name: value}))

    result = invoke("review", "--rescore", run, "--output", tmp_path / "out")

    assert f"run.json is damaged: '{name}' is not what stands there" in str(result.exception)


@pytest.mark.parametrize("kind", ["exam", "review"])
def test_a_done_run_whose_run_json_is_damaged_is_resumed_in_words(runs, tmp_path, kind, part):
    original = json.loads((runs[kind] / "run.json").read_text())
    run = tmp_path / "copy"
    shutil.copytree(runs[kind], run)
    for number, place in enumerate(part.of(list(places(original)), 2)):
        record = json.loads(json.dumps(original))
        inner = record
        for name in place[:-1]:
            inner = inner[name]
        inner[place[-1]] = WRONG[number % len(WRONG)]
        (run / "run.json").write_text(json.dumps(record))

        result = invoke(kind, "--resume", run)

        is_said = result.exception is None or isinstance(result.exception, SystemExit | MarkbookError)
        assert is_said, (place, WRONG[number % len(WRONG)], repr(result.exception))


@pytest.mark.parametrize("place", [("started",), ("config", "benchmark_name"), ("sources", "solutions"), ("finished",)])
def test_half_a_character_in_run_json_stops_no_report(runs, tmp_path, place):
    for kind, original in runs.items():
        run = tmp_path / kind
        shutil.copytree(original, run)
        record = json.loads((run / "run.json").read_text())
        inner = record if len(place) == 1 else record.setdefault(place[0], {})
        inner[place[-1]] = "\ud800"
        (run / "run.json").write_text(json.dumps(record))

        assert read_by_all(run, tmp_path / "out") == [], kind


@pytest.mark.parametrize("number", [True, 1])
def test_a_number_in_place_of_a_path_is_no_open_file(runs, tmp_path, number):
    run = tmp_path / "copy"
    shutil.copytree(runs["exam"], run)
    record = json.loads((run / "run.json").read_text())
    record["config"]["python"] = number
    (run / "run.json").write_text(json.dumps(record))

    result = invoke("exam", "--resume", run)

    assert str(result.exception) == f"{run / 'run.json'}: run.json is damaged: 'config.python' is not what stands there"


@pytest.mark.parametrize("place", [("scores",), ("sources", "solutions")])
@pytest.mark.parametrize("wrong", [5, "x", [None], {"x": None}, True])
def test_what_a_done_exam_is_shown_or_resumed_from_is_held_to_its_type(runs, tmp_path, place, wrong):
    run = tmp_path / "copy"
    shutil.copytree(runs["exam"], run)
    record = json.loads((run / "run.json").read_text())
    inner = record
    for name in place[:-1]:
        inner = inner[name]
    inner[place[-1]] = wrong
    (run / "run.json").write_text(json.dumps(record))

    result = invoke("exam", "--resume", run)

    assert result.exception is None or isinstance(result.exception, SystemExit | MarkbookError)


@pytest.mark.parametrize("name", ["test_results_score.json", "test_results_errors.json"])
@pytest.mark.parametrize("damage", ["object", "nested", "null"])
def test_an_exams_files_that_hold_something_else_are_said_to_be_damaged(runs, tmp_path, name, damage):
    run = unsealed(runs["exam"], tmp_path / "copy")
    (run / "A" / name).write_bytes(DAMAGES[damage])

    result = invoke("exam", "--resume", run)

    assert isinstance(result.exception, MarkbookError), (result.output, result.exception)
    assert "is damaged" in str(result.exception)


@pytest.mark.parametrize("label", ["name", "tags", "notes"])
def test_a_label_that_is_none_stops_no_report(runs, tmp_path, label):
    run = tmp_path / "copy"
    shutil.copytree(runs["exam"], run)
    for wrong in (5, True, {"x": None}, "\ud800"):
        record = json.loads((run / "run.json").read_text()) | {label: wrong}
        (run / "run.json").write_text(json.dumps(record))
        result = invoke("report", run, "--output", tmp_path / "out")

        assert result.exit_code == 0, (wrong, result.output, result.exception)
