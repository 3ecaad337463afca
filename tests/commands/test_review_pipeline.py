"""`markbook review` from files to files."""

import gzip
import json
import re
import shutil

import pytest
from support.fake_openai import FAULTS, FakeOpenAI, good
from support.review_kit import markbook, only_run, papers, reports_of, reviews, rows_of, traces

import markbook as api
from markbook.judge import panel
from markbook.judge.judge_options import JudgeOptions

PAIR = ("--similarity", "cosine,jaccard")


@pytest.fixture
def inputs(tmp_path):
    return ("--papers", papers(tmp_path), "--reviews", reviews(tmp_path))


def run(tmp_path, *args, name="out"):
    code, out, err = markbook("review", *args, "--output", tmp_path / name)
    return code, only_run(tmp_path / name), out, err


def nulls(record, path=""):
    for name, value in record.items():
        if value is None:
            yield f"{path}{name}"


def test_tier_one_with_the_best_reference_and_its_reasons(tmp_path, inputs):
    code, folder, out, _ = run(tmp_path, *inputs, *PAIR)

    rows = rows_of(folder)
    tier1 = rows["one/mas/0"]["tier1"]
    assert code == 0
    assert 0 < tier1["jaccard_score"] < tier1["cosine_score"] < 1
    assert tier1["overall_score"] == pytest.approx(0.6 * tier1["cosine_score"] + 0.4 * tier1["jaccard_score"])
    assert tier1["references"] == 2
    assert tier1["execution_time"] == 5
    assert tier1["time_score"] == pytest.approx(0.3832, abs=1e-4)
    assert tier1["task_success"] == 0.0
    assert rows["two/mas/0"]["tier1"]["missing"]["cosine_score"]["kind"] == "no_completion"
    assert rows["two/mas/0"]["tier1"]["missing"]["time_score"]["kind"] == "undefined"
    assert rows["three/mas/0"]["tier1"]["missing"]["cosine_score"]["detail"] == "the paper has no human review"
    assert rows["three/mas/0"]["tier1"]["time_score"] == 1.0
    assert "cosine_score" in out


@pytest.mark.parametrize("tiers", [[1], [1, 3], [2, 3], [3]])
def test_the_tiers_that_are_enabled_have_values_and_the_others_a_reason(tmp_path, inputs, tiers):
    config = tmp_path / "tiers.json"
    config.write_text(json.dumps({"evaluation_system": {"tiers_enabled": tiers}}))
    with FakeOpenAI(good) as server:
        judge = ("--judge", "openai:m", "--base-url", server.base_url) if 2 in tiers else ()
        args = ("--traces", traces(tmp_path), "--config", config, *PAIR, *judge)
        _, folder, _, _ = run(tmp_path, *inputs, *args)

    row = rows_of(folder)["one/mas/0"]
    for tier, name in ((1, "cosine_score"), (2, "technical_accuracy"), (3, "graph_complexity")):
        reason = row[f"tier{tier}"]["missing"].get(name, {}).get("detail")
        assert (row[f"tier{tier}"][name] is not None) is (tier in tiers), name
        assert reason == (None if tier in tiers else f"tier {tier} is not enabled")


def test_every_null_has_its_reason(tmp_path, inputs):
    _, folder, _, _ = run(tmp_path, *inputs)

    for row in rows_of(folder).values():
        for part in ("tier1", "tier2", "tier3", "composite"):
            for name in nulls(row[part]):
                assert row[part]["missing"][name]["detail"], (part, name)
                assert row["missing"][f"{part}.{name}"] == row[part]["missing"][name]
        for name in nulls(row["composite"]["metric_scores"]):
            assert row["composite"]["missing"][name]["detail"]


def test_results_have_the_documented_fields(tmp_path, inputs):
    _, folder, _, _ = run(tmp_path, *inputs)
    row = rows_of(folder)["one/mas/0"]

    assert {"cosine_score", "jaccard_score", "semantic_score", "execution_time", "time_score", "task_success",
            "overall_score"} <= set(row["tier1"])  # fmt: skip
    assert {"technical_accuracy", "constructiveness", "planning_rationality", "overall_score", "model_used", "api_cost",
            "fallback_used"} <= set(row["tier2"])  # fmt: skip
    assert {"path_convergence", "tool_selection_accuracy", "coordination_centrality", "task_distribution_balance",
            "overall_score", "graph_complexity"} <= set(row["tier3"])  # fmt: skip
    assert {"composite_score", "recommendation", "recommendation_weight", "metric_scores", "tier1_score", "tier2_score",
            "tier3_score", "evaluation_complete", "weights_used", "interval"} <= set(row["composite"])  # fmt: skip
    assert "NaN" not in (folder / "results.jsonl").read_text()


def test_without_a_model_the_semantic_score_is_missing_and_the_run_is_done(tmp_path, inputs):
    code, folder, _, _ = run(tmp_path, *inputs)

    row = rows_of(folder)["one/mas/0"]
    assert code == 0
    assert row["tier1"]["missing"]["semantic_score"]["kind"] == "unavailable"
    assert row["tier1"]["missing"]["task_success"]["kind"] == "unavailable"
    assert row["composite"]["composite_score"] is None
    assert 0 < row["composite"]["interval"][0] < row["composite"]["interval"][1] < 1


def test_a_semantic_score_that_was_asked_for_and_is_not_there_is_incomplete(tmp_path, inputs):
    config = tmp_path / "config_eval.json"
    tier1 = {"similarity_metrics": ["semantic", "cosine"], "bertscore_model": str(tmp_path / "no-such-model")}
    config.write_text(json.dumps({"tier1_traditional": tier1}))

    code, folder, _, err = run(tmp_path, *inputs, "--config", config)

    assert code == 3
    assert "semantic_score" in err
    assert rows_of(folder)["one/mas/0"]["tier1"]["cosine_score"] > 0


def test_all_three_tiers_make_a_composite(tmp_path, inputs):
    config = tmp_path / "config.json"
    weights = dict.fromkeys(("time_taken", "task_success", "planning_rational", "output_similarity"), 0.25)
    config.write_text(json.dumps({"metrics_and_weights": weights}))
    with FakeOpenAI(good) as server:
        code, folder, _, _ = run(
            tmp_path, *inputs, *PAIR, "--config", config, "--traces", traces(tmp_path),
            "--judge", "openai:fake-model", "--base-url", server.base_url,
        )  # fmt: skip

    row = rows_of(folder)["one/mas/0"]
    assert code == 0
    assert row["tier2"]["technical_accuracy"] == row["tier2"]["planning_rationality"] == 0.75
    assert row["tier2"]["details"]["constructiveness"]["marks"]["balanced_critique"] == 4
    assert row["tier2"]["details"]["technical_accuracy"]["coverage"] == 1.0
    assert row["tier3"]["path_convergence"] is not None
    composite = row["composite"]
    expected = 0.25 * (row["tier1"]["time_score"] + 0 + 0.75 + row["tier1"]["overall_score"])
    assert composite["composite_score"] == pytest.approx(expected)
    assert composite["evaluation_complete"]
    assert sum(composite["label_stability"].values()) == pytest.approx(1)
    # Two was empty, three has no text to judge accuracy by: missing for reasons in the data, so the run is done.
    assert rows_of(folder)["two/mas/0"]["tier2"]["missing"]["constructiveness"]["kind"] == "no_completion"
    manifest = json.loads((folder / "run.json").read_text())
    assert manifest["judge_account"]["openai:fake-model"]["requests"] == server.calls
    assert manifest["performance"]["tier1"]["target"] == 1.0


def test_the_same_bytes_from_the_server_from_a_cassette_and_after_a_resume(tmp_path, inputs):
    tape = tmp_path / "judge.jsonl"
    judge = ("--judge", "openai:fake-model", "--cassette", tape)
    with FakeOpenAI(good) as server:
        _, first, _, _ = run(tmp_path, *inputs, *PAIR, *judge, "--base-url", server.base_url, name="a")
        calls = server.calls
    code, second, _, _ = run(tmp_path, *inputs, *PAIR, *judge, name="b")
    again, _, _ = markbook("review", *inputs, *PAIR, *judge, "--resume", second)

    assert (code, again) == (0, 0)
    assert calls > 0
    assert reports_of(first) == reports_of(second)
    spent = json.loads((second / "run.json").read_text())["judge_account"]["openai:fake-model"]
    assert (spent["requests"], spent["replayed"]) == (0, calls)


def test_a_killed_run_goes_on_where_it_stood(tmp_path, inputs):
    judge = ("--judge", "openai:fake-model", "--judge-workers", "1")
    with FakeOpenAI(good) as server:
        _, whole, _, _ = run(tmp_path, *inputs, *PAIR, *judge, "--base-url", server.base_url, name="whole")
        calls = server.calls
        for keep in (1, 4, 7):
            part = tmp_path / f"evaluation_{keep}"
            shutil.copytree(whole, part)
            for report in ("results.jsonl", "summary.json", "evaluation_summary.md"):
                (part / report).unlink()
            (segment,) = (part / "journal").iterdir()
            lines = segment.read_bytes().split(b"\n")
            segment.write_bytes(b"\n".join([*lines[:keep], lines[keep][:9]]))
            before = server.calls

            code, _, _ = markbook("review", *inputs, *PAIR, *judge, "--base-url", server.base_url, "--resume", part)

            assert server.calls - before <= calls
            assert code == 0
            assert (part / "results.jsonl").read_bytes() == (whole / "results.jsonl").read_bytes()


def test_a_resume_with_other_weights_is_refused_and_a_rescore_needs_no_judge(tmp_path, inputs):
    with FakeOpenAI(good) as server:
        judge = ("--judge", "openai:fake-model", "--base-url", server.base_url)
        _, first, _, _ = run(tmp_path, *inputs, *PAIR, *judge)
        calls = server.calls
        config = tmp_path / "other.json"
        config.write_text(json.dumps({"metrics_and_weights": {"time_taken": 1, "output_similarity": 3}}))
        refused, _, _ = markbook("review", *inputs, *PAIR, *judge, "--config", config, "--resume", first)
        code, out, _ = markbook(
            "review", "--rescore", first, *PAIR, "--config", config, "--output", tmp_path / "new", "--json"
        )

    row = rows_of(only_run(tmp_path / "new"))["one/mas/0"]
    assert refused == 2
    assert (code, server.calls) == (0, calls)
    assert row["composite"]["weights_used"] == {"time_taken": 0.25, "output_similarity": 0.75}
    expected = 0.25 * row["tier1"]["time_score"] + 0.75 * row["tier1"]["overall_score"]
    assert row["composite"]["composite_score"] == pytest.approx(expected)
    assert row["tier2"] == rows_of(first)["one/mas/0"]["tier2"]
    assert json.loads(out)["reviews"] == 3


def test_a_rescore_of_a_killed_review_says_what_is_lacking_and_which_run_to_finish(tmp_path, inputs):
    _, whole, _, _ = run(tmp_path, *inputs, *PAIR, name="whole")
    part = tmp_path / "evaluation_1"
    shutil.copytree(whole, part)
    record = (part / "run.json").read_text().replace('"status": "done"', '"status": "running"')
    (part / "run.json").write_text(record)

    code, _, err = markbook("review", "--rescore", part, *PAIR, "--output", tmp_path / "new")

    assert code == 3
    assert "incomplete: the run that was scored again is running, and what it has not measured is missing" in err
    assert f"(markbook review --resume {part} finishes it; then score it again)" in err
    assert str(only_run(tmp_path / "new")) in err


@pytest.mark.parametrize("command", ["exam", "run", "review"])
def test_a_folder_without_run_json_is_not_resumed_without_arguments(tmp_path, command):
    code, _, err = markbook(command, "--resume", tmp_path)

    assert code == 2
    assert "no run.json says how it was started (give the command's arguments again)" in err
    assert str(tmp_path) in err


@pytest.mark.parametrize("fault", ["500", "refusal", "seven_of_five", "prose", "html_200", "401"])
def test_a_judge_that_cannot_is_exit_3_and_tier_one_stands(tmp_path, inputs, fault):
    with FakeOpenAI(FAULTS[fault]) as server:
        code, folder, _, err = run(
            tmp_path,
            *inputs,
            *PAIR,
            "--judge",
            "openai:fake-model",
            "--base-url",
            server.base_url,
            "--judge-retries",
            "0",
        )

    row = rows_of(folder)["one/mas/0"]
    assert code == 3
    assert "tier2" in err
    assert row["tier1"]["cosine_score"] > 0
    assert row["tier2"]["constructiveness"] is None
    assert row["tier2"]["missing"]["constructiveness"]["kind"] in ("unavailable", "failed")
    assert json.loads((folder / "run.json").read_text())["status"] == "incomplete"


def test_a_judge_that_came_back_at_its_address_is_asked_only_for_what_is_missing(tmp_path, inputs):
    broken = [True]
    with (
        FakeOpenAI(lambda request, n: FAULTS["500"](request, n) if n % 2 and broken else good(request)) as server,
        FakeOpenAI(good) as other,
    ):
        judge = ("--judge", "openai:fake-model", "--judge-retries", "0", "--judge-workers", "1")
        code, folder, _, _ = run(tmp_path, *inputs, *PAIR, *judge, "--base-url", server.base_url)
        asked = server.calls
        broken.clear()
        moved, _, err = markbook("review", *inputs, *PAIR, *judge, "--base-url", other.base_url, "--resume", folder)
        same = f"{server.base_url}/"  # the same address
        again, _, _ = markbook("review", *inputs, *PAIR, *judge, "--base-url", same, "--resume", folder)
        missing = server.calls - asked

    assert (moved, other.calls, "what differs: config.judge_addresses" in err) == (2, 0, True), err
    assert (code, again) == (3, 0)
    assert missing == asked // 2
    assert rows_of(folder)["one/mas/0"]["tier2"]["constructiveness"] == 0.75


def test_the_documented_profile_keeps_the_faults(tmp_path, inputs):
    rows = [
        {"paper_id": "one", "system": "mas", "review": "x y", "execution_time": 0.05},
        {"paper_id": "one", "system": "mas", "review": "x z", "execution_time": 0.5},
    ]
    with FakeOpenAI(good) as server:
        judge = ("--judge", "openai:fake-model", "--base-url", server.base_url)
        profile = (*PAIR, *judge, "--profile", "documented")
        code, folder, _, _ = run(tmp_path, *inputs[:2], "--reviews", reviews(tmp_path, rows), *profile)

    first, second = (rows_of(folder)[f"one/mas/{index}"] for index in (0, 1))
    assert code == 0
    assert first["tier1"]["time_score"] == pytest.approx(-0.7677, abs=1e-4)
    assert second["tier1"]["time_score"] == pytest.approx(3.2589, abs=1e-4)
    # 4 of 5 is .8, not .75; missing metrics count 0; the clamp hides the negative sum.
    assert first["tier2"]["constructiveness"] == pytest.approx(0.8)
    assert first["composite"]["composite_score"] == 0.0
    assert first["composite"]["raw_score"] < 0
    assert first["composite"]["recommendation"] == "reject"
    assert not first["composite"]["evaluation_complete"]


def test_the_tier1_only_fallback_has_its_own_name(tmp_path, inputs):
    config = tmp_path / "config.json"
    config.write_text(json.dumps({"composite_scoring": {"fallback_strategy": "tier1_only"}}))

    _, folder, _, _ = run(tmp_path, *inputs, *PAIR, "--config", config)

    composite = rows_of(folder)["one/mas/0"]["composite"]
    tier1 = rows_of(folder)["one/mas/0"]["tier1"]
    assert composite["composite_score"] is None
    assert composite["fallback_used"] is True
    assert composite["tier1_only_score"] == pytest.approx((tier1["time_score"] + tier1["overall_score"]) / 3)


def test_calibration_takes_the_threshold_from_people(tmp_path, inputs):
    _, folder, _, _ = run(tmp_path, *inputs, *PAIR, "--calibrate", "50")

    summary = json.loads((folder / "summary.json").read_text())
    row = rows_of(folder)["one/mas/0"]
    # One paper has two human reviews, so both are each other's closest: their combined similarity is the median.
    human = summary["human_yardstick"]["closest_other"]
    threshold = 0.6 * human["cosine"]["median"] + 0.4 * human["jaccard"]["median"]
    assert summary["task_success_threshold"]["value"] == pytest.approx(threshold)
    assert row["tier1"]["task_success"] == float(row["tier1"]["similarity"] >= threshold)
    assert summary["human_yardstick"]["success_rate"] == 1.0


def test_own_recommendation_beside_the_people(tmp_path, inputs):
    _, folder, _, _ = run(tmp_path, *inputs, *PAIR)

    own = rows_of(folder)["one/mas/0"]["own_recommendation"]
    # 4 of 1-5 is .75; people said 4 and 3, .625.
    assert (own["own"], own["human"], own["difference"]) == (0.75, 0.625, 0.125)


def test_a_panel_reports_the_median_and_its_agreement(tmp_path, inputs):
    marks = {"openai:a": 2, "openai:b": 4, "openai:c": 5}

    def script(request, n):
        from support.fake_openai import fill, schema_of, structured

        return structured(request, json.dumps(fill(schema_of(request), integer=marks[f"openai:{request['model']}"])))

    with FakeOpenAI(script) as server:
        panel = [word for name in marks for word in ("--judge", name)]
        code, folder, _, _ = run(tmp_path, *inputs, *PAIR, *panel, "--base-url", server.base_url)

    row, summary = rows_of(folder)["one/mas/0"], json.loads((folder / "summary.json").read_text())
    assert code == 0
    assert row["tier2"]["constructiveness"] == 0.75
    assert row["tier2"]["model_used"] == "openai:a, openai:b, openai:c"
    assert summary["judge_agreement"]["constructiveness"]["value"] < 0


def test_a_panel_with_one_judge_down_has_no_score_and_is_incomplete(tmp_path, inputs):
    def script(request, n):
        return FAULTS["500"](request, n) if request["model"] == "b" else good(request, n)

    with FakeOpenAI(script) as server:
        judge = ("--judge", "openai:a", "--judge", "openai:b", "--base-url", server.base_url, "--judge-retries", "0")
        code, folder, _, err = run(tmp_path, *inputs, *PAIR, *judge)

    tier2 = rows_of(folder)["one/mas/0"]["tier2"]
    assert code == 3
    assert "tier2.constructiveness: 2 of 3 (unavailable: openai:b: status 500: oops)" in err
    assert tier2["constructiveness"] is None
    details = tier2["details"]["constructiveness"]
    assert (details["n"], details["n_missing"], details["marks"]) == (1, 1, {})
    # What the other one says is kept: every mark is 4.
    assert {judge: set(marks.values()) for judge, marks in details["by_judge"].items()} == {"openai:a": {4.0}}


def test_a_full_disk_during_judging_is_one_line(tmp_path, inputs, monkeypatch):
    from markbook.errors import StorageError
    from markbook.store import RunWriter

    add = RunWriter.add

    def fail(self, kind, key, data, **options):
        if kind == "judgement":
            raise StorageError("no space left on device", at="journal")
        add(self, kind, key, data, **options)

    monkeypatch.setattr(RunWriter, "add", fail)
    with FakeOpenAI(good) as server:
        judge = ("--judge", "openai:a", "--base-url", server.base_url)
        code, _, err = markbook("review", *inputs, *PAIR, *judge, "--output", tmp_path / "out")

    assert code == 74
    assert "no space left" in err


def test_a_gate_on_a_mean(tmp_path, inputs):
    passed = markbook("review", *inputs, *PAIR, "--output", tmp_path / "a", "--fail-under", "cosine_score=0.1")[0]
    failed = markbook("review", *inputs, *PAIR, "--output", tmp_path / "b", "--fail-under", "cosine_score=0.99")[0]
    missing = markbook("review", *inputs, *PAIR, "--output", tmp_path / "c", "--fail-under", "composite_score=0")[0]

    assert (passed, failed, missing) == (0, 1, 1)


@pytest.mark.parametrize(
    ("args", "code"),
    [
        (("--papers", "no-such-folder", "--reviews", "x"), 2),
        (("--reviews", "x"), 2),
        ((*PAIR, "--policy", "hope"), 2),
        (("--similarity", "sine"), 2),
        (("--judge", "gpt-4o"), 2),
        (("--fail-under", "nonsense"), 2),
    ],
)
def test_mistakes_are_exit_2_with_one_line(tmp_path, inputs, args, code):
    given = args if "--reviews" in args else (*inputs, *args)

    found, _, err = markbook("review", *given, "--output", tmp_path / "out")

    assert found == code
    assert "Traceback" not in err


def test_an_unknown_weight_is_exit_2(tmp_path, inputs):
    config = tmp_path / "config.json"
    config.write_text(json.dumps({"metrics_and_weights": {"time_take": 1.0}}))

    code, _, err = markbook("review", *inputs, "--config", config, "--output", tmp_path / "out")

    assert code == 2
    assert "time_taken" in err


def test_a_broken_row_is_counted_and_strict_stops(tmp_path, inputs):
    with inputs[3].open("a") as file:
        file.write("not json\n")

    code, folder, _, err = run(tmp_path, *inputs, *PAIR)
    strict, _, _ = markbook("review", *inputs, "--strict", "--output", tmp_path / "strict")

    assert (code, strict) == (0, 65)
    assert "1 files or rows could not be read" in err
    assert len(rows_of(folder)) == 3


@pytest.mark.parametrize("is_folder", [False, True])
def test_reviews_that_are_cut_off_are_refused_where_they_break(tmp_path, inputs, is_folder):
    (tmp_path / "all").mkdir()
    file = tmp_path / "all" / "reviews.jsonl.gz"
    first, *others = inputs[3].read_bytes().splitlines(keepends=True)
    file.write_bytes(gzip.compress(first) + gzip.compress(b"".join(others))[:-20])

    code, _, err = markbook("review", *inputs[:3], file.parent if is_folder else file, "--output", tmp_path / "out")

    assert code == 2
    assert re.search(rf"markbook: {re.escape(str(file))}:[23]: the file is damaged: .* cut off", err)
    assert not (tmp_path / "out").exists()


def test_a_review_of_an_unknown_paper_keeps_its_row(tmp_path, inputs):
    rows = [{"paper_id": "elsewhere", "review": "x", "execution_time": 1}]

    code, folder, _, err = run(tmp_path, *inputs[:2], "--reviews", reviews(tmp_path, rows), *PAIR)

    row = rows_of(folder)["elsewhere/default/0"]
    assert code == 0
    assert "elsewhere" in err
    assert row["tier1"]["time_score"] == 1.0
    assert row["tier1"]["missing"]["cosine_score"]["kind"] == "not_applicable"


def test_hostile_names_reach_no_terminal_and_no_markdown(tmp_path, inputs):
    rows = [{"paper_id": "one", "system": "\x1b]0;x\x07<script>|evil", "review": "x"}]

    code, folder, out, err = run(tmp_path, *inputs[:2], "--reviews", reviews(tmp_path, rows), *PAIR)

    assert code == 0
    assert "\x1b" not in out + err
    assert "<script>" not in (folder / "evaluation_summary.md").read_text()


def test_the_page_is_made_and_shows_no_raw_markup(tmp_path, inputs):
    rows = [{"paper_id": "one", "system": "<script>alert(1)</script>", "review": "x"}]

    _, folder, out, _ = run(tmp_path, *inputs[:2], "--reviews", reviews(tmp_path, rows), *PAIR)

    page = (folder / "report.html").read_text()
    assert "report.html" in out
    assert "Tier 1" in page
    assert "<script>alert" not in page


def test_two_runs_differ_in_nothing_but_times(tmp_path, inputs):
    _, first, _, _ = run(tmp_path, *inputs, *PAIR, name="a")
    _, second, _, _ = run(tmp_path, *inputs, *PAIR, name="b")

    assert reports_of(first) == reports_of(second)


def test_the_log_goes_to_the_file_that_was_named(tmp_path, inputs):
    log = tmp_path / "review.log"
    with inputs[3].open("a") as file:
        file.write("not json\n")
    (traces(tmp_path) / "two.json").write_text("no trace")

    def script(request, n):
        return FAULTS["refusal"](request, n) if n == 0 else good(request)

    with FakeOpenAI(script) as server:
        judge = ("--judge", "openai:m", "--base-url", server.base_url, "--judge-retries", "0", "--judge-workers", "1")
        run(tmp_path, *inputs, *PAIR, *judge, "--traces", tmp_path / "traces", "--log-file", log, "--verbose")

    said = log.read_text()
    for words in (
        "papers 3, papers_with_text 1, papers_with_human_reviews 2",  # what was read, by kind
        "entries_human 3",
        "3 of 1 systems (mas 3)",
        "reviews.jsonl:4: not JSON",  # what was not
        "two.json: the trace cannot be read",
        "openai:m on technical_accuracy of one by mas, part 1, sample 0: missing (failed: ",  # each answer of a judge
        "openai:m on constructiveness of one by mas, part 1, sample 0: answered after 1 requests",
        "100 and 20 tokens",
        "tier1 took",  # each tier's time
        "incomplete: tier2.technical_accuracy",
        "3 reviews scored",
    ):
        assert words in said, words


def test_a_paper_that_was_read_in_part_is_said_to_be(tmp_path, inputs, monkeypatch):
    """The text of paper one has 611 characters: in parts of 40, of which 12 at most are read, some are left out."""
    make = panel.JudgeSettings
    monkeypatch.setattr(panel, "JudgeSettings", lambda **options: make(**options, part_chars=40))
    with FakeOpenAI(good) as server:
        judge = ("--judge", "openai:m", "--base-url", server.base_url)
        code, folder, _, err = run(tmp_path, *inputs, *PAIR, *judge)

    detail = rows_of(folder)["one/mas/0"]["tier2"]["details"]["technical_accuracy"]
    found = json.loads((folder / "summary.json").read_text())["systems"]["mas"]["paper_read"]
    assert code == 0, err
    assert 0 < detail["coverage"] < 1
    assert found == {"n": 2, "in_part": 1, "least_share": detail["coverage"]}  # of paper three there is an abstract
    assert detail["n"] == 1  # twelve parts make one answer
    words = f"1 of 2 reviews were judged on a part of their paper only; the least share read is {100 * detail['coverage']:.0f} %"
    assert words in (folder / "evaluation_summary.md").read_text()
    assert words in (folder / "report.html").read_text()


def test_the_terminal_says_what_it_took(tmp_path, inputs):
    with FakeOpenAI(good) as server:
        judge = ("--judge", "openai:gpt-4o-mini", "--base-url", server.base_url)
        _, _, out, _ = run(tmp_path, *inputs, *PAIR, *judge)

    calls = server.calls
    assert f"Judge openai:gpt-4o-mini: {calls} requests, 0 replies from the cassette, tokens {100 * calls:,} in" in out
    assert f"{20 * calls} out, cost unknown" in out
    assert "(target 1 s)" in out
    assert "total" in out


def test_the_command_goes_on_with_a_run_that_was_started_from_python(tmp_path, inputs):
    asked = JudgeOptions(retries=4)
    found = api.review(inputs[1], inputs[3], similarity=("cosine", "jaccard"), output=tmp_path / "out", options=asked)
    code, out, _ = markbook("review", "--resume", found.folder, "--json")

    assert found.status == "done"
    assert (code, json.loads(out)["reviews"]) == (0, 3)


def test_a_run_that_is_edited_away_says_what_to_do(tmp_path):
    code, _, err = markbook("review", "--rescore", tmp_path)

    assert code == 2
    assert "not a run" in err
