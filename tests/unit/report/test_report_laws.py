"""What must not change the figures of any report of any kind of run: order, names, workers, format, direction, a twin, a gap.

Both the kinds and the reports are those that are registered, so that a new one is held to every law unasked. A run is made by
the command that a user types, its reports are written by `markbook report`, and their cells are read back.
"""

import json
import re
import shutil
import sys
from itertools import count
from types import ModuleType, SimpleNamespace

import pytest
from hypothesis import HealthCheck, Phase, given, settings, strategies as st
from support import foreign_files
from support.fake_openai import FakeOpenAI
from support.law_runs import MAKERS, Asked, Row, grade, run_command
from support.report_cells import Names, cells, in_order
from support.review_kit import markbook
from test_results_laws import sheets, write_table

from markbook import plugins
from markbook.results.comparison import compare_sheet, headline, tables as comparison_tables
from markbook.results.kind import open_results
from markbook.results.leaderboard import standings
from markbook.results.sheet import Cell, Sheet
from markbook.store import open_run

pytestmark = pytest.mark.usefixtures("kept_workers")

KINDS = plugins.names("runs")
REPORTS = plugins.names("reports")
REFUSED = {"documented": ("import", "review", "run"), "lm-eval": ("import", "review")}
"""Reports of files that only some kinds have."""
TRACKERS = ("mlflow", "wandb")
"""Reports whose numbers go to another program: what it is sent is read."""
MODELS = ("modelash", "modelbirch", "modelcedar")
TWIN = "modeltwin"
ITEMS = ("itemfig", "itemgum", "itemhaw", "itemivy", "itemkale")
MORE = (*ITEMS, "itemnut", "itemoak", "itempea")
RENAMED = dict(zip(ITEMS, ("unitzinc", "unityew", "unitwolf", "unitvine", "unitulna"), strict=True))
"""In the opposite order of the alphabet."""
GONE = ("itemlost", "itemmist")
LAW = settings(
    max_examples=5,
    phases=(Phase.generate,),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@st.composite
def tables(draw, models=MODELS, *, missing=True):
    """Return what a run is made of: some models' marks of some items, two of which all have; others may be missing."""
    items = ITEMS[: draw(st.integers(4, 5))]
    mark = st.integers(0, 4)
    maybe = st.one_of(mark, mark, st.none()) if missing else mark
    rows = []
    for at, item in enumerate(items):
        for place, model in enumerate(models):
            drawn = draw(mark if at < 2 else maybe)
            # So that the first table that is drawn, of zeros alone, is one of models that differ.
            rows.append(Row(model, item, None if drawn is None else (drawn + 2 * at + (at > 0) * place) % 5))
    return Asked(rows, items)


class Tracker(ModuleType):
    """Stands for MLflow and Weights & Biases alike, and keeps what it is sent."""

    def __init__(self):
        super().__init__("tracker")
        self.numbers = {}
        self.id = self.dir = "1"

    def MlflowClient(self, _uri):  # noqa: N802 - as MLflow calls it
        return self

    def get_experiment_by_name(self, _name):
        return SimpleNamespace(experiment_id="1")

    def create_run(self, _experiment, tags):
        return SimpleNamespace(info=SimpleNamespace(run_id="1"), tags=tags)

    def log_metric(self, _run, name, value):
        self.numbers[name] = value

    def init(self, **_options):
        return self

    def log(self, numbers):
        self.numbers |= numbers

    def ignore(self, *_arguments):
        pass

    log_param = set_terminated = finish = ignore


class Bench:
    """Makes runs and reads their reports."""

    def __init__(self, folder, server, tracker):
        self._folders = (folder / str(number) for number in count())
        self._server, self._tracker = server, tracker

    def folder(self):
        """Return a new folder."""
        folder = next(self._folders)
        folder.mkdir()
        return folder

    def make(self, kind, asked):
        """Return a kind of run of these marks: its folders by model, or under no name."""
        options = {"server": self._server} if kind == "review" else {}
        return MAKERS[kind](self.folder(), asked, **options)

    def files(self, report, runs):
        """Return the files of a report of all runs; their paths say whose run it is."""
        files = {}
        for model, path in runs.items():
            output = self.folder()
            self._tracker.numbers = {}
            run_command("report", path, "--format", report, "--output", output)
            made = {str(one.relative_to(output)): one for one in output.rglob("*") if one.is_file()}
            contents = {name: one.read_bytes() for name, one in made.items()}
            if report in TRACKERS:
                contents = {"numbers.json": json.dumps(self._tracker.numbers).encode()}
            files |= {f"{model}/{name}" if model else name: content for name, content in contents.items()}
            shutil.rmtree(output)
        return files

    def cells(self, report, runs, names):
        """Return a report of all runs, read back."""
        return cells(self.files(report, runs), names)


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    tracker = Tracker()
    with FakeOpenAI(grade) as server, pytest.MonkeyPatch.context() as patch:
        for name in TRACKERS:
            patch.setitem(sys.modules, name, tracker)
        patch.setattr("markbook.report.exports.png", lambda _picture: b"")  # no figure is read out of a picture
        yield Bench(tmp_path_factory.mktemp("laws"), server, tracker)


def reports_of(kind, part):
    """Return the reports that a kind of run has, as many as this level reads."""
    return part.of([report for report in REPORTS if kind not in REFUSED.get(report, ())], 3)


def assert_same(report, one, other):
    """Hold two readings of a report against one another, and name the first cells that differ."""
    assert one, f"nothing of {report} is read"
    differing = {
        key: (one.get(key), other.get(key)) for key in one.keys() | other.keys() if one.get(key) != other.get(key)
    }
    assert not differing, (report, dict(list(differing.items())[:5]))


def test_every_kind_of_run_is_held_to_the_laws():
    assert sorted(MAKERS) == KINDS


@pytest.mark.parametrize("kind", KINDS)
def test_every_report_is_read_back_or_refused_with_the_reason(bench, kind):
    asked = Asked(
        [Row(model, item, (at + shift) % 5) for shift, model in enumerate(MODELS) for at, item in enumerate(ITEMS)],
        ITEMS,
    )
    runs = bench.make(kind, asked)
    means = means_of(runs.values())
    assert sorted(means) == sorted(MODELS)

    for report in REPORTS:
        if kind in REFUSED.get(report, ()):
            code, _, err = markbook("report", next(iter(runs.values())), "--format", report, "--output", bench.folder())
            assert (code, f"a run of `markbook {kind}` has no {report} files" in err) == (2, True), (report, err)
            continue
        found = bench.cells(report, runs, Names(MODELS, ITEMS))
        for model in MODELS:
            said = [value for (_, models, _, _), values in found.items() if models == (model,) for value in values]
            if report in ROWS_ONLY:
                assert {item for _, models, items, _ in found if models == (model,) for item in items} == set(ITEMS), (
                    report
                )
            else:
                assert any(is_number(value, means[model]) for value in said), (report, model, means[model])


ROWS_ONLY = ("csv", "parquet", "junit")
"""Reports that say something of every attempt and nothing of the whole."""


def is_number(value, number):
    """Whether a cell holds a number: as it is, or in hundredths as people read it."""
    if isinstance(value, str):
        return any(
            re.search(rf"(?<![\d.-]){re.escape(f'{100 * number:.{digits}f}')}(?![\d.])", value) for digits in (1, 2)
        )
    return isinstance(value, float) and any(value == pytest.approx(one, abs=1e-6) for one in (number, 100 * number))


def of_equals(found, means):
    """Return the cells of a report but for its sentences where models tie: of equals, who is named first is the input's to say."""
    if len(set(means)) == len(means):
        return found
    return {
        key: values for key, values in found.items() if not (len(key[1]) > 1 and re.match("line|headline|next", key[3]))
    }


def means_of(runs):
    """Return each model's number by the run's main metric."""
    sheets = [open_results(open_run(path)).sheet(None) for path in runs]
    return {one.model: one.summary.value for sheet in sheets for one in standings(sheet)}


@pytest.mark.parametrize("kind", KINDS)
@given(tables(), st.randoms(use_true_random=False))
@LAW
def test_the_order_of_rows_and_models_changes_no_cell_of_any_report(bench, part, kind, asked, random):
    rows = list(asked.rows)
    random.shuffle(rows)
    names = Names(MODELS, ITEMS)

    one, other = bench.make(kind, asked), bench.make(kind, asked._replace(rows=rows))

    means = means_of(one.values()).values()
    for report in reports_of(kind, part):
        before, after = (of_equals(bench.cells(report, runs, names), means) for runs in (one, other))
        assert_same(report, before, after)


@pytest.mark.parametrize("kind", KINDS)
@given(tables())
@LAW
def test_other_ids_change_the_ids_and_no_other_cell_of_any_report(bench, part, kind, asked):
    rows = [row._replace(item=RENAMED[row.item]) for row in asked.rows]
    items = [RENAMED[item] for item in asked.items]

    one, other = bench.make(kind, asked), bench.make(kind, Asked(rows, items))

    for report in reports_of(kind, part):
        before = bench.cells(report, one, Names(MODELS, items, RENAMED))
        assert_same(report, before, bench.cells(report, other, Names(MODELS, items)))


BY_OTHERS = re.compile(
    r"^(?:#|rank\w*|group|Group|Plausible ranks|Solo)$|strength|weakness|only_solved_by|wins|Solved by|Where they differ|tab:only",
    re.IGNORECASE,
)
"""Cells that by definition depend on who else is there: ranks and letters are those of all together, strengths are over the others."""


def of_one(found, model):
    """Return the cells that are said of one model alone; which picture shows it is no matter."""
    return {
        (where, items, name): [
            re.sub(r"\]\(\S+\.png\)", "]", value) if isinstance(value, str) else value for value in values
        ]
        for (where, models, items, name), values in found.items()
        if models == (model,)
    }


def but_others(found):
    """Return the cells that do not depend on who else is there."""
    return {
        key: values for key, values in found.items() if not BY_OTHERS.search(key[0]) and not BY_OTHERS.search(key[2])
    }


@pytest.mark.parametrize("kind", KINDS)
@given(tables())
@LAW
def test_a_twin_of_a_model_has_its_cells_and_changes_no_other_in_any_report(bench, part, kind, asked):
    names = Names([*MODELS, TWIN], ITEMS)
    twins = [*asked.rows, *(row._replace(model=TWIN) for row in asked.rows if row.model == MODELS[0])]

    one, other = bench.make(kind, asked), bench.make(kind, asked._replace(rows=twins))

    for report in reports_of(kind, part):
        before, after = bench.cells(report, one, names), bench.cells(report, other, names)
        for model in MODELS:
            assert_same(report, but_others(of_one(before, model)), but_others(of_one(after, model)))
        assert_same(report, but_others(of_one(after, MODELS[0])), but_others(of_one(after, TWIN)))


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "import"])
@given(tables())
@LAW
def test_the_number_of_workers_changes_neither_a_cell_nor_the_order_in_any_report(bench, part, kind, asked):
    one, other = bench.make(kind, asked), bench.make(kind, asked._replace(workers=3))

    for report in reports_of(kind, part):
        before, after = (in_order(bench.files(report, runs)) for runs in (one, other))
        assert before, f"nothing of {report} is read"
        assert before == after, report


COUNTS = re.compile(
    r"missing|n_items|n_scored|scored|skipped|tests|coverage|bounds|worst|absent|without_review|rows|answers|original|effective",
    re.IGNORECASE,
)
"""Cells that say how much there is and what it leaves open."""
PLACES = frozenset(("index", "doc_id", "answered"))


@pytest.mark.parametrize("kind", KINDS)
@given(tables(), st.integers(1, 2))
@LAW
def test_what_is_missing_is_counted_in_every_report_and_moves_no_other_cell(bench, part, kind, asked, added):
    gone = GONE[:added]
    names = Names(MODELS, [*ITEMS, *GONE])
    gaps = [Row(model, item, None) for item in gone for model in MODELS]

    one, other = bench.make(kind, asked), bench.make(kind, Asked([*asked.rows, *gaps], [*asked.items, *gone]))

    for model, mean in means_of(other.values()).items():
        # An exam counts what is absent as 0, and says so; the attempted score beside it leaves it out.
        share = len(asked.items) / (len(asked.items) + added) if kind == "exam" else 1
        assert mean == pytest.approx(share * means_of(one.values())[model], abs=1e-9)
    for report in reports_of(kind, part):
        before, after = (bench.cells(report, runs, names) for runs in (one, other))
        for model in MODELS:
            first, second = of_one(before, model), of_one(after, model)
            assert_same(
                report,
                unmoved(first, kind),
                {key: cells for key, cells in unmoved(second, kind).items() if not set(key[1]) & set(gone)},
            )
            counted = [
                (key, values, second[key])
                for key, values in first.items()
                if not key[1]
                and not key[2].startswith("line")
                and (key[2].endswith("n_items") or any(re.match(r"\d+ of \d+$", str(value)) for value in values))
            ]
            for key, values, others in counted:
                assert sorted((count_more(value, added) for value in values), key=repr) == others, (report, key)
        for (where, models, items, name), values in after.items():
            if len(models) == 1 and set(items) & set(gone) and name not in PLACES:
                assert not any(says_number(where, name, value) for value in values), (report, items, name, values)


def unmoved(found, kind):
    """Return the cells of a model that nothing may move which is missing: of sentences the numbers with a point."""
    kept = {}
    for (where, items, name), values in found.items():
        is_moved = kind == "exam" and not items and "attempted" not in f"{where} {name}".lower()
        if is_moved or COUNTS.search(f"{where} {name}"):
            continue
        if name.startswith("line"):
            kept[where, items, name] = sorted(
                number for value in values for number in re.findall(r"\d+\.\d+", str(value))
            )
        else:
            kept[where, items, name] = values
    return {key: values for key, values in kept.items() if values}


def count_more(value, added):
    """Return a count of samples, a number or `3 of 4`, as it is with more samples of which none has a value."""
    if not isinstance(value, str):
        return value + added
    scored, of, count = value.rpartition(" of ")
    return f"{scored}{of}{int(count) + added}"


def says_number(where, name, value):
    """Whether a cell of a sample that nobody has a mark of shows a number all the same."""
    if name == "line mark":
        return bool(re.search(r"\d", str(value)))
    if COUNTS.search(where):
        return False
    return isinstance(value, float) or bool(re.fullmatch(r"[-+]?\d+(\.\d+)?", str(value)))


@st.composite
def clear_tables(draw):
    """Return two models' marks of eight items, by which the one that is drawn is better beyond doubt; or any table."""
    best = draw(st.sampled_from([*MODELS[:2], None]))
    if best is None:
        return draw(tables())
    rows = [
        Row(model, item, 4 - draw(st.integers(0, 1)) if model == best else (at + draw(st.integers(0, 2))) % 3)
        for at, item in enumerate(MORE)
        for model in MODELS[:2]
    ]
    return Asked(rows, MORE)


@pytest.mark.parametrize("kind", ["import", "run"])
@given(clear_tables())
@LAW
def test_scores_turned_round_with_their_direction_are_mirrored_in_every_report(bench, part, kind, asked):
    names = Names(MODELS, MORE)

    one, other = bench.make(kind, asked._replace(is_lower=False)), bench.make(kind, asked._replace(is_lower=True))

    for report in reports_of(kind, part):
        before, after = (in_one_direction(bench.cells(report, runs, names)) for runs in (one, other))
        assert_same(report, mirror_all(before), {key: sorted(values, key=repr) for key, values in after.items()})
    (first, pairs), (turned, others) = (verdicts(runs.values()) for runs in (one, other))
    assert first == turned
    for pair, twin in zip(pairs, others, strict=True):
        assert pair[:-1] == twin[:-1]
        assert pair[-1] == pytest.approx(-twin[-1], abs=1e-9)


DIRECTION = re.compile(r"direction|(?:lower|higher)_is_better|signature|^metrics$")
MIRRORED = re.compile(r"score|value|mean|edit_similarity|interval|bounds|CI|low|high|upper|line|note", re.IGNORECASE)
COUNTED = re.compile(r"\bn_\w+|\bn$|stats|confidence(?:_level)?$|_stderr|missing|num_samples|(?:max|min)_score|range")
OTHER_END = {"low": "high", "high": "low", "lower": "upper", "upper": "lower"}


def in_one_direction(found):
    """Return the cells under the names that both directions have; what names a direction or the metric is left out."""
    kept = {}
    for (where, models, items, name), values in found.items():
        where, name = (text.replace("edit_distance", "edit_similarity") for text in (where, name))  # noqa: PLW2901 - the same name
        if not DIRECTION.search(name) and not re.search(r"(?:lower|higher)_is_better|\.config\b", where):
            kept[where, models, items, name] = [say_higher(value) for value in values]
    return kept


def say_higher(value):
    """Return a cell with the words that a score has of which more is better."""
    if not isinstance(value, str):
        return value
    words = value.replace("edit_distance", "edit_similarity").replace(" (lower is better)", "")
    return words.replace("lower is better", "higher is better")


def mirror_all(found):
    """Return the cells of a run of scores as they are where 1 - score is the score."""
    turned = {}
    for (where, models, items, name), values in found.items():
        other = re.sub(r"(?<![A-Za-z])(?:low|high|lower|upper)$", lambda end: OTHER_END[end[0]], name)
        turned[where, models, items, other] = sorted((mirror(f"{where} {name}", value) for value in values), key=repr)
    return turned


def mirror(name, value):
    """Return a cell as it is where 1 - score is the score; counts and standard errors are what they were."""
    if COUNTED.search(name) or not MIRRORED.search(name):
        return value
    if isinstance(value, float):
        return round(1 - value, 9) + 0.0
    if isinstance(value, tuple):
        return tuple(mirror(name, one) for one in reversed(value))
    if not isinstance(value, str):
        return value
    if "report.csv" in name:
        return str(1 - float(value)) if re.fullmatch(r"[01]\.\d+", value) else value
    value = re.sub(r"(?<=away from )[01]\b", lambda one: str(1 - int(one[0])), value)
    turned = re.sub(r"(\d+\.\d)(, | to )(\d+\.\d)", r"\3\2\1", value)
    return re.sub(r"(?<![\d.(])\d+\.\d(?![\d.])", lambda one: f"{100 - float(one[0]):.1f}", turned)


def verdicts(runs):
    """Return what a comparison says whichever way is better: its sentences but for their scores, and of each pair who is better."""
    code, out, err = markbook("compare", *runs, "--format", "json")
    assert code == 0, err
    found = json.loads(out)
    words = [
        re.sub(r" \(\d[\d.]*\)", "", found[name] or "").replace("lower", "higher") for name in ("headline", "next_step")
    ]
    pairs = [
        tuple(pair[name] for name in ("model_a", "model_b", "n", "better", "p", "p_adjusted", "difference"))
        for pair in found["pairs"]
    ]
    return words, pairs


@pytest.mark.parametrize("kind", KINDS)
@given(tables())
@LAW
def test_the_order_of_arguments_changes_no_cell_of_a_comparison(bench, kind, asked):
    names = Names(MODELS, ITEMS)
    runs = [path for model in MODELS for path in bench.make(kind, asked.of(model)).values()]

    means = means_of(runs).values()
    one, other = (of_equals(cells(compare_files(bench, paths), names), means) for paths in (runs, runs[::-1]))

    assert_same("compare", one, other)


def compare_files(bench, runs):
    """Return what `markbook compare` prints and writes, in all its forms."""
    page = bench.folder() / "page.html"
    files = {}
    for form in ("md", "csv", "json"):
        code, out, err = markbook(
            "compare", *runs, "--all-pairs", "--format", form, *(["--html", page] if form == "md" else [])
        )
        assert code == 0, err
        files[f"comparison.{form}"] = out.encode()
    return {**files, "page.html": page.read_bytes()}


PAIR = ("model-0", "model-1")


def tau_bench(folder, model):
    """Write a model's rewards as tau-bench does."""
    rows = [
        {"task_id": item, "reward": foreign_files.mark(model, item), "info": {}, "traj": [], "trial": 0}
        for item in range(foreign_files.ITEMS)
    ]  # fmt: skip
    path = folder / f"model-{model}.json"
    path.write_text(json.dumps(rows))
    return path


def table(form):
    """Return a writer of a model's marks as a plain table."""

    def write(folder, model):
        here = folder / f"model-{model}"
        here.mkdir()
        rows = [
            {"item": f"sums/{item}", "model": f"model-{model}", "score": foreign_files.mark(model, item)}
            for item in range(foreign_files.ITEMS)
        ]
        return write_table(here, form, rows)[0]

    return write


FORMS = {
    **{name: write for name, write in foreign_files.FORMATS.items() if name not in ("csv", "jsonl")},
    **{form: table(form) for form in ("csv", "json", "jsonl", "parquet")},
    "tau-bench": tau_bench,
}
"""Writers of a model's marks, by the format."""
OF_VERDICTS = ("evalplus", "evalplus 0.1", "human-eval", "inspect eval", "inspect json")
"""Formats that know right and wrong alone."""
TABLES = ("csv", "json", "jsonl", "parquet")


def test_every_format_of_other_tools_is_held_to_the_laws():
    assert {name.partition(" ")[0] for name in FORMS if name not in TABLES} | {"table"} == set(plugins.names("foreign"))


def write_form(bench, form, marks):
    """Return the files of two models' marks in a format, and what the format calls the metric."""
    folder = bench.folder()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(foreign_files, "ITEMS", len(marks))
        patch.setattr(foreign_files, "BROKEN", ())
        patch.setattr(foreign_files, "mark", lambda model, item: marks[item][model])
        files = {name: FORMS[form](folder, model) for model, name in enumerate(PAIR)}
    return files, open_results(open_run(files[PAIR[0]])).sheet(None).metric


def said_by_metric(report, found, metric):
    """Return the cells of the main metric of each model, whatever it is called, and the counts of its cases."""
    kept = {}
    for (where, models, _, name), values in found.items():
        place = f"{where} | {name}"
        if report == "every-eval-ever":
            is_kept = name in ("score", "lower", "upper", "n_scored", "n_items", "num_samples")
        else:
            place = re.sub(rf"(?<!\w){re.escape(metric)}(?!\w)", "METRIC", place)
            is_kept = where.endswith("suite") or "METRIC" in place
        if is_kept and name not in ("is_verdict", "metric", "line h2", "line caption"):
            kept[place, models] = values
    return kept


@pytest.mark.parametrize("form", [form for form in FORMS if form != "jsonl"])
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=4, max_size=7))
@LAW
def test_the_same_scores_in_another_format_have_the_same_cells_in_every_report(bench, part, form, marks):
    marks = [tuple((one + 2 * at + model) % 5 / 4 for model, one in enumerate(both)) for at, both in enumerate(marks)]
    if form in OF_VERDICTS:
        marks = [tuple(float(one >= 0.5) for one in both) for both in marks]
    (one, metric), (other, theirs) = write_form(bench, "jsonl", marks), write_form(bench, form, marks)
    names = Names(PAIR, [])

    for report in reports_of("import", part):
        before, after = bench.cells(report, one, names), bench.cells(report, other, names)
        assert_same(report, said_by_metric(report, before, metric), said_by_metric(report, after, theirs))


def tell(sheet):
    """Return a comparison's headline without its score, and its pairs' cells by the two models, each from both sides."""
    found = compare_sheet(sheet)
    said = headline(found)
    pairs = {}
    for table in comparison_tables(found, all_pairs=True)[1:2]:
        for row in table.rows:
            first, second, *rest = map(str, row)
            pairs[first, second] = rest[2:]  # the difference and its interval have a sign
    return re.sub(r" \(\d[\d.]*\)", "", said.text), said.step, {frozenset(key): cells for key, cells in pairs.items()}


@given(sheets(), st.sampled_from(["", "A", "B"]))
@settings(max_examples=40, deadline=None)
def test_scores_turned_round_with_their_direction_are_told_in_the_same_words(sheet, best):
    if best:  # beyond doubt, where there are samples enough
        cells = {model: Cell(float(model == best), passed=model == best) for model in sheet.marks}
        sheet = Sheet(
            "m", {model: dict.fromkeys(marks, cells[model]) for model, marks in sheet.marks.items()}, sheet.range
        )
    marks = {
        model: {
            sample: cell if cell.value is None else Cell(1 - cell.value, passed=cell.passed)
            for sample, cell in cells.items()
        }
        for model, cells in sheet.marks.items()
    }

    text, step, pairs = tell(sheet)
    turned = tell(Sheet(sheet.metric, marks, sheet.range, "lower"))

    assert turned[0].replace("has the lower mean", "has the higher mean") == text
    assert turned[1:] == (step, pairs)
