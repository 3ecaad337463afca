"""A metric from outside: what it must have, what it may have, and what it is given where it leaves that out."""

import json

import pytest
from click.testing import CliRunner
from support.exam_kit import write_rows
from support.review_kit import markbook as markbook_command

import markbook
from markbook import plugins
from markbook.cli import cli
from markbook.engine import Inline
from markbook.errors import ConfigError, UsageError
from markbook.metrics import Metric, PairMetric
from markbook.types import Attempt, Item, Measurement, Sample


class Bare:
    """The seven members that every metric has, and no other."""

    name, version, range, direction, signature = "bare", 1, (0.0, 9.0), "higher", "bare|v1"

    def measure(self, items):
        return [
            Measurement(self.name, float(len(item.attempt.text)), sample_id=item.sample.id, signature=self.signature)
            for item in items
        ]

    def summarise(self, measurements):
        values = [one.value for one in measurements if one.value is not None]
        return sum(values) / len(values) if values else None


class Whole(Bare):
    """Every other member too, each unlike its default."""

    name, signature = "whole", "whole|a|v1"
    needs_reference, whole_batch, averages = False, True, False
    passes = 0

    def summarise(self, measurements):
        return max(one.value for one in measurements)

    def resample(self, _, draws):
        return [float(place) for place, _ in enumerate(draws)]

    def signs(self, signature):
        return signature.startswith("whole|")

    @staticmethod
    def together(metrics, items):
        Whole.passes += 1
        return [metric.measure(items) for metric in metrics]


class Other(Whole):
    name, signature = "other", "other|v1"
    together = None


class Derived(Metric):
    """Gives what has no default, and nothing more."""

    name, version, range, direction, signature = "derived", 1, (0.0, 9.0), "lower", "derived|v1"
    measure = Bare.measure


class Endless(Bare):
    range = None


def twice():
    return PairMetric("twice", "twice|v1", lambda candidate, _: (2.0 * len(candidate), {}), range=(0.0, 9.0))


def error_rate(*, direction=None):
    return PairMetric("error_rate", "error_rate|v1", lambda *_: 0.25, direction)


def bias():
    return PairMetric("bias", "bias|v1", lambda *_: 0.25)


HERE = "test_plugin_metric:"
ASSUMED = {
    "error_rate": "error_rate: lower is assumed to be better, from its name.",
    "bias": "bias: higher is assumed to be better, but its name may mean the opposite.",
}


TASK = (
    "task: t\ndataset_path: json\ndataset_kwargs: {data_files: rows.jsonl}\noutput_type: generate_until\ntest_split: train\n"
    "doc_to_text: '{{ q }}'\ndoc_to_target: '{{ q }}'\n"
)


@pytest.mark.parametrize(("name", "direction"), [("error_rate", "lower"), ("bias", "higher")])
@pytest.mark.parametrize("stated", ["lower", "higher", ""])
def test_a_pair_metric_without_a_direction_says_what_is_assumed_and_a_task_file_decides(
    tmp_path, name, direction, stated
):
    write_rows(tmp_path / "rows.jsonl", [{"q": "x", "candidate": "x", "reference": "x", "prediction": "x"}])
    more = f", higher_is_better: {str(stated == 'higher').lower()}" if stated else ""
    (tmp_path / "t.yaml").write_text(f"{TASK}metric_list: [{{metric: '{HERE}{name}'{more}}}]\n")
    args = ("--predictions", tmp_path / "rows.jsonl", "--allow-code", "--output", tmp_path / "out", "--json")

    code, out, messages = markbook_command("run", tmp_path / "t.yaml", *args)
    _, _, scored = markbook_command("score", f"{HERE}{name}", tmp_path / "rows.jsonl")

    assert code == 0, messages
    (summary,) = json.loads(out)["tasks"]["t"]["metrics"].values()
    assert summary["direction"] == (stated or direction)
    assert (f"t: {ASSUMED[name]} `direction=` in its PairMetric decides." in messages) == (not stated), messages
    assert f"{ASSUMED[name]} `direction=` in its PairMetric decides." in scored


def test_a_pair_metric_that_states_its_direction_says_nothing_of_it_and_no_task_file_turns_it(tmp_path):
    write_rows(tmp_path / "rows.jsonl", [{"q": "x", "candidate": "x", "reference": "x", "prediction": "x"}])
    entry = f"{{metric: '{HERE}error_rate', direction: lower, higher_is_better: true}}"
    (tmp_path / "t.yaml").write_text(f"{TASK}metric_list: [{entry}]\n")

    _, _, messages = markbook_command(
        "score", f"{HERE}error_rate", tmp_path / "rows.jsonl", "--option", "direction=lower"
    )
    code, _, refused = markbook_command(
        "run",
        tmp_path / "t.yaml",
        "--predictions",
        tmp_path / "rows.jsonl",
        "--allow-code",
        "--output",
        tmp_path / "out",
    )

    assert "assumed" not in messages
    assert (code, "higher_is_better: true contradicts error_rate, where lower is better" in refused) == (2, True), (
        refused
    )


def test_a_bare_metric_has_every_member_with_its_default():
    made = plugins.create_typed("metrics", f"{HERE}Bare")

    assert (made.needs_reference, made.needs_trace, made.whole_batch, made.averages) == (True, False, False, True)
    assert made.measure_rows(["a"], ["b"]) is None
    assert made.resample([Measurement("bare", 1.0), Measurement("bare", 4.0)], [[0, 0], [0, 1]]) == [1.0, 2.5]
    assert made.signs("bare|v1")
    assert not made.signs("bare|v2")


def test_a_metric_that_states_no_direction_has_that_of_its_name():
    def pair(name, **stated):
        return PairMetric(name, f"{name}|v1", lambda *_: 0.5, **stated)

    assert (pair("error_rate").direction, pair("quality").direction) == ("lower", "higher")
    assert pair("loss", direction="higher").direction == "higher"


def test_a_bare_metric_is_measured_summarised_and_refused_without_references():
    rows = markbook.measure(f"{HERE}Bare", ["ab", "abcd", None], ["x", "y", "z"])

    assert [one.value for one in rows] == [2.0, 4.0, None]
    assert markbook.summarise(f"{HERE}Bare", rows).value == 3.0
    with pytest.raises(UsageError, match="needs references"):
        markbook.measure(f"{HERE}Bare", ["ab"])


def test_a_row_and_an_executor_name_a_metric_as_it_names_itself():
    with Inline() as executor:
        rows = markbook.measure(f"{HERE}Bare", ["ab", None], ["x", "y"], executor=executor)

    assert [one.metric for one in rows] == ["bare", "bare"]


def test_the_score_command_takes_a_bare_metric(tmp_path):
    file = tmp_path / "rows.jsonl"
    file.write_text('{"candidate": "ab", "reference": "x"}\n{"candidate": "abcd", "reference": "y"}\n', "utf-8")

    done = CliRunner().invoke(cli, ["score", f"{HERE}Bare", str(file), "--json"])

    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["metrics"][f"{HERE}Bare"]["value"] == 3.0


def test_what_a_metric_states_itself_is_kept():
    made = plugins.create_typed("metrics", f"{HERE}Whole")

    assert (made.needs_reference, made.whole_batch, made.averages) == (False, True, False)
    assert made.signs("whole|another|v1")
    rows = markbook.measure(f"{HERE}Whole", ["ab", "abcd"])
    summary = markbook.summarise(f"{HERE}Whole", rows)
    assert summary.value == 4.0  # its own, the largest, and no mean
    assert summary.interval.low == pytest.approx(24.975)  # 2.5 % of its own 0..999


def test_metrics_of_one_class_share_a_pass_and_those_of_another_do_not(monkeypatch):
    monkeypatch.setattr(Whole, "passes", 0)
    names = [f"{HERE}Whole", f"{HERE}Bare", f"{HERE}Other"]

    found = markbook.measure(names, ["ab"], ["x"])

    assert [found[name][0].metric for name in names] == ["whole", "bare", "other"]
    assert Whole.passes == 1


def test_a_whole_batch_is_not_divided_and_others_are():
    sizes = []

    class Spy(Inline):
        def submit(self, work, *arguments):
            sizes.append((arguments[0], len(arguments[-1])))
            return super().submit(work, *arguments)

    with Spy() as executor:
        markbook.measure([f"{HERE}Whole", f"{HERE}Bare"], ["ab"] * 40, ["x"] * 40, executor=executor)

    assert sizes == [([f"{HERE}Bare"], 16), ([f"{HERE}Bare"], 16), ([f"{HERE}Bare"], 8)]


def test_deriving_gives_all_but_the_measuring():
    made = plugins.create_typed("metrics", f"{HERE}Derived")

    assert type(made) is Derived
    assert made.summarise(made.measure([])) is None
    rows = markbook.measure(f"{HERE}Derived", ["ab", "abcd"], ["x", "y"])
    assert markbook.summarise(f"{HERE}Derived", rows).value == 3.0


def test_a_function_of_one_pair_is_a_metric():
    rows = markbook.measure(f"{HERE}twice", ["ab", "abcde"], ["x", "y"])

    assert rows[0].value == 4.0
    assert rows[1].missing.kind == "failed"  # 10, outside its own range


def test_a_range_that_is_none_is_refused_at_the_door():
    with pytest.raises(ConfigError, match="'bare' states no range but None"):
        plugins.create_typed("metrics", f"{HERE}Endless")


@pytest.mark.parametrize(
    ("given", "value", "detail"),
    [
        (0.5, 0.5, ""),
        (1, 1.0, ""),
        ("0.5", None, "TypeError: a metric gives a number, or a number and its stats, not str"),
        (None, None, "TypeError: a metric gives a number, or a number and its stats, not NoneType"),
        (("x", {}), None, "TypeError: a metric gives a number, or a number and its stats, not str"),
    ],
)
def test_a_function_may_give_a_bare_number_and_nothing_else_is_one(given, value, detail):
    metric = PairMetric("odd", "odd|v1", lambda _candidate, _references: given)

    (measured,) = metric.measure([Item(Sample("s", references=("b",)), Attempt("s", "a", "m", 0))])

    assert measured.value == value
    assert (measured.missing.detail if measured.missing else "") == detail
