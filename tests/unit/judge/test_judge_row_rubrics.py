"""Rubrics of a row's own, grades in place of marks, points that are lost, and thresholds: `score judge`, `run`, `measure`."""

import json

import pytest
from support.fake_openai import FakeOpenAI, schema_of, structured
from support.review_kit import markbook

import markbook as package
from markbook.errors import ConfigError
from markbook.judge.client import Violation, parse_marks
from markbook.judge.rubrics import describe_rubric, read_row_rubric, read_rubric, system_text

MODEL = "openai:judge"
GRADED = {
    "name": "facts", "task": "Grade the answer.", "reads": ["answer"], "threshold": 0.5,
    "criteria": [{"name": "fact", "question": "Is it right?", "grades": {"C": 1, "P": 0.5, "I": 0},
                  "anchors": {"P": "a part of it is"}}],
}  # fmt: skip
BY_ROW = {"name": "row_by_row", "task": "Judge the answer.", "reads": ["answer"], "row": "rubric", "threshold": "row"}
POINTS = [
    {"criterion": "names the capital", "points": 5, "tags": ["axis:accuracy"]},
    {"criterion": "is polite", "points": 3},
    {"criterion": "gives a wrong date", "points": -4},
]


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "x")


def replying(**marks):
    """Return a judge that gives these marks, of whatever criteria it is asked for, and a reason for each."""

    def script(request, _n):
        wanted = schema_of(request)["properties"]
        reply = {name: marks.get(name, []) if name.endswith("_quotes") else marks.get(name, "so") for name in wanted}
        return structured(request, json.dumps(reply))

    return script


def score(tmp_path, rubric, rows, script, *more):
    (tmp_path / "rubric.json").write_text(json.dumps(rubric))
    (tmp_path / "rubric.yaml").write_text(json.dumps(rubric))  # JSON is YAML
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with FakeOpenAI(script) as server:
        code, out, err = markbook("score", "judge", tmp_path / "rows.jsonl", "--rubric", tmp_path / "rubric.yaml",
                                  "--judge", MODEL, "--base-url", server.base_url, *more)  # fmt: skip
    return code, out, err, server


@pytest.mark.parametrize(("grade", "value", "passed"), [("C", 1.0, 1.0), ("P", 0.5, 1.0), ("I", 0.0, 0.0)])
def test_a_grade_is_asked_for_by_name_and_scores_what_the_rubric_says(tmp_path, grade, value, passed):
    code, out, err, server = score(tmp_path, GRADED, [{"candidate": "Paris."}], replying(fact=grade), "--rows")
    row = json.loads(out)

    assert code == 0, err
    assert (row["judge"], row["judge.fact"], row["judge.passed"]) == (value, value, passed)
    assert row["stats"]["judge.fact"] == {"mark": value, "reason": "so", "quotes": [], "grade": grade}
    assert row["stats"]["judge"]["passed"] is bool(passed)
    [request] = server.requests
    assert schema_of(request)["properties"]["fact"]["enum"] == ["C", "P", "I"]
    assert "- fact: Is it right? One of: C, P, I.\n  P = a part of it is" in request["messages"][-1]["content"]
    assert "then one of its grades." in request["messages"][0]["content"]


@pytest.mark.parametrize("reply", ["c", "X", "C ", 1, None, True, ["C"]])
def test_what_is_not_one_of_the_grades_does_not_count(reply):
    rubric = read_rubric(GRADED)

    with pytest.raises(Violation, match=r"fact is .*, not one of C, P, I"):
        parse_marks(json.dumps({"fact": reply}), rubric)


def test_grades_and_marks_stand_side_by_side():
    rubric = read_rubric(GRADED | {"criteria": [*GRADED["criteria"], {"name": "tone", "question": "Is it kind?"}]})

    # C is 1, 2 on 1..5 is .25: their mean
    assert rubric.overall({"fact": 1.0, "tone": 2.0}) == pytest.approx(0.625)
    assert "a whole number on its scale or one of its grades" in system_text(rubric)
    assert "- tone: Is it kind? From 1 (poor) to 5 (excellent)." in describe_rubric(rubric)


@pytest.mark.parametrize(
    ("marks", "value"),
    [
        ({"c1": "yes", "c2": "yes", "c3": "no"}, 1.0),
        ({"c1": "yes", "c2": "no", "c3": "yes"}, 1 / 8),  # (5 - 4) / (5 + 3)
        ({"c1": "no", "c2": "yes", "c3": "yes"}, 0.0),  # 3 - 4 is below 0
    ],
)
def test_points_of_a_row_are_won_and_lost(tmp_path, marks, value):
    row = {"candidate": "Paris.", "rubric": {"criteria": POINTS, "threshold": 0.6}}
    code, out, err, server = score(tmp_path, BY_ROW, [row], replying(**marks), "--rows")
    found = json.loads(out)

    assert code == 0, err
    assert found["judge"] == pytest.approx(value)
    assert found["judge.passed"] == float(value >= 0.6)
    assert found["stats"]["judge"]["criteria"] == {
        "c1": "names the capital", "c2": "is polite", "c3": "gives a wrong date",
    }  # fmt: skip
    assert "- c3: gives a wrong date One of: yes, no." in server.requests[0]["messages"][-1]["content"]


def test_each_row_is_asked_by_its_own_rubric_and_a_bad_one_costs_itself_alone(tmp_path):
    rows = [
        {"candidate": "a", "rubric": {"criteria": "It is short.", "threshold": 0.7}},
        {"candidate": "b", "rubric": {"criteria": [{"name": "kind", "description": "Is it kind?"}], "threshold": 0.2}},
        {"candidate": "c"},
        {"candidate": "d", "rubric": {"criteria": [{"name": "x", "question": "?", "weight": 0}], "threshold": 1}},
        {"candidate": "e", "rubric": {"criteria": [{"question": "?"}]}},
        {"candidate": "f", "rubric": 7},
        {"candidate": "g", "rubric": {"criteria": [{"question": "?", "points": -1}], "threshold": 1}},
    ]
    code, out, err, server = score(tmp_path, BY_ROW, rows, replying(c1=4, kind=2), "--rows")
    found = [json.loads(line) for line in out.splitlines()]

    assert code == 0, err
    assert [row.get("judge") for row in found] == [0.75, 0.25, None, None, None, None, None]
    assert [row.get("judge.passed") for row in found] == [1.0, 1.0, None, None, None, None, None]
    reasons = [row["missing"]["judge"] for row in found[2:]]
    assert [reason["kind"] for reason in reasons] == ["not_applicable", *["undefined"] * 4]
    for reason, words in zip(reasons, ("the row has no 'rubric'", "must be greater than 0", "the row has no threshold",
                                       "the row's 'rubric': rubric", "no answer can gain points"), strict=True):  # fmt: skip
        assert words in reason["detail"]
    prompts = sorted(request["messages"][-1]["content"].splitlines()[2] for request in server.requests)
    assert prompts == ["- c1: It is short.", "- kind: Is it kind?"]


def test_criteria_of_all_rows_stand_before_a_rows_own(tmp_path):
    rubric = BY_ROW | {"criteria": [{"name": "tone", "question": "Is it kind?", "threshold": 0.5}]}
    del rubric["threshold"]
    rows = [{"candidate": "a", "rubric": ["It is short."]}, {"candidate": "b"}]
    code, out, err, _ = score(tmp_path, rubric, rows, replying(tone=5, c1=1), "--rows")
    first, second = [json.loads(line) for line in out.splitlines()]

    assert code == 0, err
    assert (first["judge"], first["judge.tone"], second["judge"], second["judge.passed"]) == (0.5, 1.0, 1.0, 1.0)


def test_a_task_reads_the_rubric_of_its_rows_and_gates_the_share_that_passes(tmp_path):
    rows = [
        {"q": f"Q{n}?", "checks": {"criteria": [{"text": f"says {n}", "points": 2}], "threshold": 1}} for n in range(4)
    ]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    answers = [{"id": str(n), "prediction": f"Answer {n}."} for n in range(4)]
    (tmp_path / "answers.jsonl").write_text("".join(json.dumps(row) + "\n" for row in answers))
    (tmp_path / "rubric.yaml").write_text(json.dumps(BY_ROW | {"row": "checks", "reads": ["question", "answer"]}))
    (tmp_path / "t.yaml").write_text(
        'name: t\ndata: {path: rows.jsonl}\nprompt: "{{ q }}"\n'
        "metrics:\n  - {name: judge, key: tone, options: {rubric: rubric.yaml}}\n"
    )

    def script(request, _n):
        asked_for = request["messages"][-1]["content"]
        holds = next(n for n in range(4) if f"says {n}" in asked_for) < 3
        return replying(c1="yes" if holds else "no")(request, _n)

    with FakeOpenAI(script) as server:
        code, out, err = markbook("run", tmp_path / "t.yaml", "--predictions", tmp_path / "answers.jsonl", "--output",
                                  tmp_path / "out", "--judge", MODEL, "--judge-url", server.base_url,
                                  "--fail-under", "tone.passed=0.8")  # fmt: skip

    assert code == 1, err
    assert "tone.passed" in out + err
    [folder] = (tmp_path / "out").glob("evaluation_*")
    values = [json.loads(line)["metrics"] for line in (folder / "results.jsonl").read_text().splitlines()]
    assert [row["tone.passed"] for row in values] == [1.0, 1.0, 1.0, 0.0]


def test_python_gives_rows_beside_the_candidates():
    rows = [{"rubric": {"criteria": ["It is short."], "threshold": 1}}, {}]
    with FakeOpenAI(replying(c1=5)) as server:
        short, none = package.measure(
            "judge", ["Paris.", "Rome."], rubric=BY_ROW, models=MODEL, base_url=server.base_url, rows=rows
        )

    assert (short.value, short.stats["passed"], none.value, none.missing.kind) == (1.0, True, None, "not_applicable")


def test_a_panel_over_rubrics_of_rows_agrees_by_what_they_come_to(tmp_path):
    rows = [{"candidate": text, "rubric": {"criteria": POINTS, "threshold": 0.5}} for text in ("a", "b", "c")]

    def script(request, n):
        first = "yes" if "\na\n" in request["messages"][-1]["content"] else "no"
        return replying(c1=first, c2="no", c3="no")(request, n)

    code, out, err, _ = score(tmp_path, BY_ROW, rows, script, "--judge", "openai:other", "--json")

    assert code == 0, err
    assert json.loads(out)["panels"]["judge"]["value"] == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"criteria": []}, "a rubric needs criteria, or `row`"),
        ({"criteria": [{"name": "f", "question": "?", "grades": {"A": 1, "B": 1}}]}, "tell nothing apart"),
        ({"criteria": [{"name": "f", "question": "?", "grades": {"A": 1, "B": 2}}]}, "less than or equal to 1"),
        ({"criteria": [{"name": "f", "question": "?", "grades": {"A": 1, "B": 0}, "scale": [1, 5]}]}, "grades or a scale"),
        ({"criteria": [{"name": "f", "question": "?", "points": 1, "weight": 1}]}, "two words for one thing"),
        ({"criteria": [{"name": "f", "question": "?", "points": -1}]}, "no answer can gain points"),
        ({"criteria": [{"name": "passed", "question": "?"}]}, "no criterion can have that name"),
        ({"criteria": [{"name": "f", "question": "?", "grades": {"A": 1, "B": 0}, "anchors": {"C": "x"}}]}, "not one of its grades"),
        ({"threshold": 1.5}, "threshold"),
        ({"threshold": "row"}, "`threshold: row` needs `row`"),
        ({"form": "pairwise"}, "a pairwise rubric must not have grades"),
    ],
)  # fmt: skip
def test_what_cannot_be_meant_is_refused(change, message):
    with pytest.raises(ConfigError, match=message):
        read_rubric(GRADED | change)


def test_rubrics_without_the_new_keys_keep_their_digest():
    # As it was before there were grades, thresholds and rubrics of rows: runs made then are still compared.
    assert read_rubric("helpfulness").digest == "b7b2e2b2b15915b0"
    assert read_rubric("technical_accuracy").digest == "a4461ad30f095b7a"


@pytest.mark.parametrize("stated", [[None], [1], {"criteria": {"a": 1}}, {"criteria": [{"question": []}]}, [[]], True,
                                    {"criteria": ["x"] * 61}, {"criteria": ["x"], "threshold": float("nan")}])  # fmt: skip
def test_hostile_rubrics_of_rows_are_one_clean_error(stated):
    with pytest.raises(ConfigError):
        read_row_rubric(read_rubric(BY_ROW), stated)


def test_people_and_checks_are_not_asked_by_rubrics_of_rows(tmp_path):
    (tmp_path / "rubric.yaml").write_text(json.dumps(BY_ROW))
    (tmp_path / "rows.jsonl").write_text('{"candidate": "a", "label": 1}\n')
    code, _, err = markbook("judge", "check", "--judge", MODEL, "--rows", tmp_path / "rows.jsonl", "--rubric",
                            tmp_path / "rubric.yaml")  # fmt: skip

    assert code == 2
    assert "a check needs one rubric for all rows" in err
