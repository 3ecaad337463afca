"""Rows made up to fit the code of the harness's own tasks: FOLDER TASKS SEED COUNT ROWS -> a task file and rows each.

Run by `bench.side_by_side --code` where lm_eval is installed. Tasks are drawn by a seed among those that name a `!function`,
a first one of each family, then a second, and so on until COUNT fit. What a row has to be is found by running the task as
lm_eval runs it, from empty rows up: an error that its code raises tells the field that is missing, or the one whose kind is
wrong, by the values that the failing line looked at. So whether a task is taken never depends on Markbook.

Theory of operation: a row is made of a schema, a tree of kinds (`text`, `letter`, a list, a dict with fields). `try_rows` makes
rows and goes through the task's stages: its constructor, the requests, the filters and `process_results` over replies like
those of the model server, the aggregations. It gives how far that came. `fit` changes the schema at the place that
`blamed` names and keeps a change that comes at least as far.
"""

from __future__ import annotations

import ast
import contextlib
import io
import itertools
import json
import logging
import random
import re
import signal
import sys
import time
import traceback
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import datasets
import jinja2.meta
import numpy as np
from lm_eval.api.task import ConfigurableTask
from lm_eval.tasks._yaml_loader import load_yaml

WORDS = [
    "red",
    "blue",
    "green",
    "seven",
    "eleven",
    "north",
    "south",
    "apple",
    "river",
    "stone",
    "quick",
    "lazy",
    "paper",
    "cloud",
    "seldom",
    "bring",
    "walk",
    "open",
    "small",
    "never",
    "window",
    "garden",
    "silver",
    "hollow",
    "gentle",
    "margin",
]
SPLITS = ("training_split", "validation_split", "test_split", "fewshot_split")
SECONDS = 2.5
"""Of the processor, for a task."""
NOT_ROWS = ("class", "custom_dataset", "doc_to_image", "doc_to_audio")
REPLIES = ("A", "seven", " red apple river", "2", "")


class UnfitError(Exception):
    """Rows that a task's code bears and that show nothing."""


class NotAChoiceError(Exception):
    """The right answer is not among the choices."""


MAKERS: dict[str, Callable[[random.Random], Any]] = {
    "text": lambda draw: f"{' '.join(draw.sample(WORDS, 5)).capitalize()}. {' '.join(draw.sample(WORDS, 4))}?",
    "word": lambda draw: draw.choice(WORDS),
    "letter": lambda draw: draw.choice("AB"),
    "letters": lambda draw: draw.sample("ABCD", 2),
    "place": lambda draw: draw.randrange(2),
    "number from 1": lambda draw: draw.randrange(1, 3),
    "year": lambda draw: draw.randrange(1900, 2000),
    "places": lambda draw: [draw.randrange(2) for _ in range(4)],
    "words": lambda draw: draw.sample(WORDS, 4),
    "word lists": lambda draw: [draw.sample(WORDS, 2) for _ in range(3)],
    "pairs": lambda draw: [[draw.choice(WORDS), draw.choice(WORDS)] for _ in range(3)],
    "digit": lambda draw: draw.choice("01"),
    "flag": lambda draw: draw.random() < 0.5,
    "share": lambda draw: round(draw.random(), 3),
    "choices": lambda draw: {"text": draw.sample(WORDS, 4), "label": list("ABCD")},
    "json words": lambda draw: json.dumps(draw.sample(WORDS, 4)),
    "json dict": lambda draw: json.dumps({key: draw.choice(WORDS) for key in "ABCD"}),
    "yes": lambda draw: draw.choice(("yes", "no")),
    "nothing": lambda _draw: "",
    "code": lambda draw: f"def f(x):\n    return x + {draw.randrange(9)}\n",
}
KINDS = (*MAKERS, "dict", "dicts", "constant")


def make(kind: Any, draw: random.Random) -> Any:
    """Return a value of a kind; a kind is a name, or a pair of a name and what it is made of."""
    if isinstance(kind, str):
        return MAKERS[kind](draw)
    name, inner = kind
    if name in ("constant", "among"):
        return draw.choice(inner or WORDS)
    items = [{key: make(part, draw) for key, part in inner.items()} for _ in range(1 if name == "dict" else 3)]
    return items[0] if name == "dict" else items


def rows_by(schema: dict[str, Any], count: int, seed: str) -> list[dict[str, Any]]:
    """Return rows of a schema."""
    draw = random.Random(seed)
    return [
        {**{key: make(kind, draw) for key, kind in schema.items()}, "number_of_row": place} for place in range(count)
    ]


class Fitted(ConfigurableTask):
    """A task of the harness over rows in memory."""

    def __init__(self, config: dict[str, Any], rows: dict[str, list[dict[str, Any]]]) -> None:
        self.rows_by_split = rows
        super().__init__(config=config)

    def download(self, *_options: object, **_more: object) -> None:
        self.dataset = datasets.DatasetDict(
            {split: datasets.Dataset.from_list(rows) for split, rows in self.rows_by_split.items()}
        )


def try_rows(config: dict[str, Any], rows: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    """Go through a task as lm_eval does and return what it is; the exception that flies holds `stage`."""
    stage: list[float] = [0]
    try:
        return _go_through(config, rows, stage)
    except Exception as error:
        error.stage = stage[0]  # type: ignore[attr-defined]  # read by `fit`
        raise


def _mark(task: Any, docs: list[dict[str, Any]], stage: list[float]) -> dict[str, list[Any]]:
    """Return the values of all rows by their names, after trying to sum each up."""
    collected: dict[str, list[Any]] = {}
    instances = sorted(task.instances, key=lambda instance: instance.doc_id)
    for doc_id, group in itertools.groupby(instances, key=lambda instance: instance.doc_id):
        parts = sorted(group, key=lambda instance: instance.idx)
        for key in parts[0].filtered_resps:
            for name, value in task.process_results(docs[doc_id], [part.filtered_resps[key] for part in parts]).items():
                collected.setdefault(name, []).append(value)
        stage[0] += 0.01
    if not collected:
        raise UnfitError("nothing is measured")
    stage[0] = 5
    for name, values in collected.items():
        with contextlib.suppress(KeyError):
            task.aggregation()[name](values)
    return collected


def _check_choices(task: Any, doc: dict[str, Any]) -> None:
    choices, gold = task.doc_to_choice(doc), task.doc_to_target(doc)
    if not isinstance(choices, list):
        raise UnfitError("choices are no list")
    if (isinstance(gold, str) and gold not in choices) or (isinstance(gold, int) and not 0 <= gold < len(choices)):
        raise NotAChoiceError(gold, choices)
    if len(set(choices)) < 2:
        raise UnfitError("choices are alike")


def _go_through(config: dict[str, Any], rows: dict[str, list[dict[str, Any]]], stage: list[float]) -> dict[str, Any]:
    random.seed(0)
    np.random.seed(1234)  # noqa: NPY002 - tasks draw from this one
    task = Fitted(json_copy(config), rows)
    task.set_fewshot_seed(1234)
    stage[0] = 1
    docs = list(task.eval_docs)
    if len(docs) < 3:
        raise UnfitError("few rows are left")
    kind = task.OUTPUT_TYPE
    if kind == "multiple_choice":
        for doc in docs:
            _check_choices(task, doc)
            stage[0] += 0.01
    stage[0] = 2
    task.build_all_requests(limit=None, rank=0, world_size=1)
    instances = task.instances
    if not instances:
        raise UnfitError("nothing is asked")
    firsts = {str(instance.args[0]) for instance in instances}
    if len(firsts) < 3 and len({str(instance.args) for instance in instances}) < 3:
        raise UnfitError("all prompts are alike")
    replies = {}
    if kind == "generate_until":
        for number, instance in enumerate(instances):
            replies[str(instance.args[0])] = reply_near(task, docs[instance.doc_id], number)
    stage[0] = 3
    for number, instance in enumerate(instances):
        reply: Any = REPLIES[number % len(REPLIES)]
        if kind != "generate_until":
            reply = (-1.0 - number % 7 / 3, number % 2 == 0) if kind != "loglikelihood_rolling" else -20.0
        instance.resps = [reply] * instance.repeats
    task.apply_filters()
    stage[0] = 4
    collected = _mark(task, docs, stage)
    # There theirs puts the model's first token before the text.
    bare = kind == "loglikelihood_rolling" or (kind != "generate_until" and not any(one.args[0] for one in instances))
    return {"kind": kind, "bare": bare, "docs": len(docs), "metrics": sorted(collected), "replies": replies}


def reply_near(task: Any, doc: Any, number: int) -> str:
    """Return a reply that is right, nearly right, or right and wrapped as models wrap it."""
    target = task.doc_to_target(doc)
    target = (target or [""])[0] if isinstance(target, list) else target
    if isinstance(target, int) and task.config.doc_to_choice is not None:
        target = task.doc_to_choice(doc)[target]
    text = str(target)
    forms = (
        text, f"The answer is ({text}).", " ".join(text.split()[1:] or ["7"]), f"Well: {text}", f"#### {text}",
        f"The answer is {text}", f"\\boxed{{{text}}}", text.upper(),
    )  # fmt: skip
    return forms[number % len(forms)]


def json_copy(value: Any) -> Any:
    """Return containers anew; functions are what they are."""
    if isinstance(value, dict):
        return {key: json_copy(part) for key, part in value.items()}
    return [json_copy(part) for part in value] if isinstance(value, list) else value


def _paths(schema: dict[str, Any], before: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    paths = []
    for key, kind in schema.items():
        paths.append((*before, key))
        if not isinstance(kind, str) and kind[0] in ("dict", "dicts"):
            paths += _paths(kind[1], (*before, key))
    return paths


def _values(value: Any, path: tuple[str, ...]) -> list[Any]:
    if not path:
        return [value, *(value if isinstance(value, list) else [])]
    if isinstance(value, list):
        return [part for each in value for part in _values(each, path)]
    return _values(value[path[0]], path[1:]) if isinstance(value, dict) and path[0] in value else []


def _fields_of(schema: dict[str, Any], path: tuple[str, ...]) -> dict[str, Any]:
    for key in path:
        schema = schema[key][1]
    return schema


class Blame:
    """What a failing line looked at."""

    def __init__(self, error: BaseException, schema: dict[str, Any], rows: list[dict[str, Any]]) -> None:
        self.schema, self.rows = schema, rows
        self.paths = _paths(schema)
        self.frames = []
        trace = error.__traceback__
        while trace is not None:
            self.frames.append((trace.tb_frame, trace.tb_lasti, trace.tb_lineno))
            trace = trace.tb_next

    def equal(self, value: Any) -> list[tuple[str, ...]]:
        """Return where rows hold a value."""
        if value is None or isinstance(value, bool | types.FunctionType | types.ModuleType):
            return []
        hits = []
        for path in self.paths:
            for row in self.rows:
                try:
                    if any(type(part) is type(value) and part == value for part in _values(row, path)):
                        hits.append(path)
                        break
                except Exception:  # noqa: BLE001 - arrays and the like compare to anything but a truth
                    continue
        return hits

    def parts(self) -> list[tuple[ast.AST, Any]]:
        """Return the parts of the innermost failing expressions of the task's own code with their values."""
        parts = []
        for frame, last, _ in reversed(self.frames):
            if "lm_eval/tasks" not in frame.f_code.co_filename:
                continue
            positions = list(frame.f_code.co_positions())[last // 2]
            text = Path(frame.f_code.co_filename).read_text(encoding="utf-8").splitlines()
            start, end, left, right = positions
            if start is None or end is None or left is None or right is None:
                continue
            lines = [line.encode() for line in text[start - 1 : end]]
            lines[-1] = lines[-1][:right]
            lines[0] = lines[0][left:]
            try:
                tree = ast.parse(b"\n".join(lines).decode().strip(), mode="eval")
            except (SyntaxError, UnicodeDecodeError):
                continue
            for node in ast.walk(tree):
                if isinstance(node, ast.Name | ast.Subscript | ast.Attribute):
                    with contextlib.suppress(Exception):
                        code = compile(ast.Expression(node), "part", "eval")
                        parts.append((node, eval(code, frame.f_globals, frame.f_locals)))
        return parts


def missing_field(error: Exception) -> Any:
    """Return what an error says that a row lacks, None where it says no such thing."""
    words = str(error)
    for pattern in (
        r"'(\w+)' is undefined", r"'.*' has no attribute '(\w+)'", r"Column '?(\w+)'? (?:not|doesn)", r"Column name (?:\[')?(\w+)",
    ):  # fmt: skip
        if match := re.match(pattern, words):
            return match[1]
    return error.args[0] if isinstance(error, KeyError) and error.args else None


def change(
    schema: dict[str, Any], rows: list[dict[str, Any]], error: Exception, task: Path, draw: random.Random
) -> None:
    """Change a schema where an error points."""
    blame = Blame(error, schema, rows)
    words, missing, parts = str(error), missing_field(error), blame.parts()
    if isinstance(error, NotAChoiceError) and draw.random() < 0.7:
        gold, choices = error.args
        paths = blame.equal(gold) or [(name,) for name in schema if re.search("label|answer|gold|target|correct", name)]
        among = draw.choice((choices[:4], list(range(min(len(choices), 4)))))
        if _set(schema, paths, ("among", among), draw):
            return
    if ("size 0" in words or "few rows" in words) and (known := constants(task)):
        likely = [word for word in known if word.lower() in f"{task.stem.replace('_', ' ')} {task.stem}".lower()]
        fixed = draw.choice(likely if likely and draw.random() < 0.6 else known)
        if _set(schema, blame.paths, ("constant", [fixed]), draw):
            return
    if isinstance(missing, str) and not blame.equal(missing) and _add(blame, parts, missing, draw):
        return
    if _take_known(blame, parts, missing, draw):
        return
    blamed = [path for _node, value in parts for path in blame.equal(value)]
    blamed += [path for path in blame.paths if f"'{path[-1]}'" in words]
    if not blamed or draw.random() < 0.25:
        lines = [line.line or "" for line in traceback.extract_tb(error.__traceback__) if "/tasks/" in line.filename]
        blamed = [path for path in blame.paths if any(path[-1] in line for line in lines)] or blamed or blame.paths
    path = draw.choice(blamed or [("text",)])
    kind: Any = draw.choice(KINDS) if draw.random() < 0.7 else guess(path[-1], draw)
    if kind == "constant":
        known = constants(task)[:40] or list(WORDS)
        kind = ("constant", draw.sample(known, min(len(known), 2)) if draw.random() < 0.7 else known)
    _set(schema, [path], (kind, {}) if kind in ("dict", "dicts") else kind, draw)


def _set(schema: dict[str, Any], paths: list[tuple[str, ...]], kind: Any, draw: random.Random) -> bool:
    """Give one of these places a kind; return whether there is any."""
    if paths:
        path = draw.choice(paths)
        _fields_of(schema, path[:-1])[path[-1]] = kind
    return bool(paths)


def _add(blame: Blame, parts: list[tuple[ast.AST, Any]], name: str, draw: random.Random) -> bool:
    """Add a field where the failing line looked for it: in a dict of the row, in the row, or in any dict."""
    with_fields = {
        path: kind[1]
        for path in blame.paths
        if not isinstance(kind := _fields_of(blame.schema, path[:-1])[path[-1]], str) and kind[0] in ("dict", "dicts")
    }
    looked = [path for _node, value in parts if isinstance(value, dict) for path in blame.equal(value)]
    for path in looked:
        if path in with_fields:
            with_fields[path].setdefault(name, guess(name, draw))
            return True
    if name not in blame.schema and len(name) < 60:
        blame.schema[name] = guess(name, draw)
        return True
    if with_fields and draw.random() < 0.7:
        draw.choice(list(with_fields.values())).setdefault(name, guess(name, draw))
        return True
    return False


def _take_known(blame: Blame, parts: list[tuple[ast.AST, Any]], missing: Any, draw: random.Random) -> bool:
    """Draw a field from what a table or a list of the failing line knows."""
    looked = [path for _node, value in parts for path in blame.equal(value)]
    looked = looked or ([] if missing is None else blame.equal(missing))
    for _node, value in parts:
        if isinstance(value, dict | list | tuple | set) and 1 < len(value) < 400 and not blame.equal(value):
            known = [part for part in value if isinstance(part, str | int)]
            if known and draw.random() < 0.8 and _set(blame.schema, looked, ("among", known[:6]), draw):
                return True
    return False


def guess(name: str, draw: random.Random) -> Any:
    """Return what a field of a name usually is."""
    low = name.lower()
    if any(part in low for part in ("choices", "options", "endings", "candidates", "distractor")):
        return draw.choice(("words", "words", "choices", ("dict", {})))
    if any(part in low for part in ("label", "gold", "idx", "index", "answer_id", "correct")):
        return draw.choice(("place", "place", "letter", "digit", "word"))
    if any(part in low for part in ("answer", "target", "solution")):
        return draw.choice(("text", "word", "letter", "place", "words"))
    if low.endswith("s") and draw.random() < 0.2:
        return draw.choice(("words", ("dicts", {})))
    return "text"


def constants(task: Path) -> list[str]:
    """Return short words that stand in the Python files beside a task."""
    words: dict[str, None] = {}
    for path in sorted(task.parent.glob("*.py"))[:4]:
        with contextlib.suppress(SyntaxError, UnicodeDecodeError):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Compare | ast.Dict | ast.Call | ast.List):
                    for child in ast.iter_child_nodes(node):
                        part = child.value if isinstance(child, ast.keyword) else child
                        if isinstance(part, ast.Constant) and isinstance(part.value, str) and 0 < len(part.value) < 30:
                            words.setdefault(part.value)
    return list(words)


def fields_named(config: dict[str, Any]) -> list[str]:
    """Return the fields that the templates of a task file name."""
    names: dict[str, None] = {}
    for key in ("doc_to_text", "doc_to_target", "doc_to_choice"):
        text = config.get(key)
        if isinstance(text, str) and text.isidentifier():
            names[text] = None
        elif isinstance(text, str):
            with contextlib.suppress(jinja2.TemplateError):
                names |= dict.fromkeys(sorted(jinja2.meta.find_undeclared_variables(jinja2.Environment().parse(text))))
    return [name for name in names if name not in ("range", "zip", "enumerate")]


def fit(config: dict[str, Any], task: Path, count: int, seed: str) -> tuple[dict[str, Any], dict[str, list[Any]]] | str:
    """Return what a task is and its rows by split, or why none were found."""
    splits = list(dict.fromkeys(str(config[key]) for key in SPLITS if config.get(key))) or ["test"]
    draw = random.Random(seed)
    best = {name: guess(name, draw) for name in fields_named(config)}
    reached, why, ends = -1.0, "", time.process_time() + SECONDS
    trial = best
    while time.process_time() < ends:
        rows = {split: rows_by(trial, count, f"{seed} {split}") for split in splits}
        try:
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                return try_rows(config, rows), rows
        except Exception as error:  # noqa: BLE001 - whatever the task's code raises tells what a row lacks
            came = getattr(error, "stage", 0.0)
            if came >= reached or draw.random() < 0.05:
                best, reached, why, last = trial, came, f"{type(error).__name__}: {error}", error
            if isinstance(error, ModuleNotFoundError | ConnectionError | FileNotFoundError):
                break
            trial = json.loads(json.dumps(best))
            shown = [row for split in splits for row in rows_by(trial, count, f"{seed} {split}")]
            change(trial, shown, last, task, draw)
    return why.replace("\n", " ")[:200]


class Late(BaseException):
    """A task takes too long; no `except Exception` of its code holds it up."""


def _stop(*_: object) -> None:
    raise Late("too long, or it waits for a server")


def config_of(path: Path) -> dict[str, Any] | str:
    """Return a task file with its functions, or why it is not a task with code of its own that can be drawn."""
    config = load_yaml(path)
    if not isinstance(config.get("task"), str) or any(config.get(key) for key in NOT_ROWS):
        return "not a task of rows of text"
    return {key: value for key, value in config.items() if key not in ("include", "group", "dataset_kwargs")}


def names_code(path: Path, depth: int = 0) -> bool:
    """Whether a task file, or one that it includes, names a function of its own."""
    text = path.read_text(encoding="utf-8", errors="replace")
    if "!function" in text:
        return True
    included = re.search(r"^include: *[\"']?([^\"'\n#]+)", text, re.MULTILINE)
    return bool(
        included and depth < 4 and (base := path.parent / included[1].strip()).is_file() and names_code(base, depth + 1)
    )


def draw_tasks(tasks: Path, seed: str) -> list[Path]:
    """Return the files of tasks with code of their own: one of each family, then a second of each, all by a seed."""
    draw = random.Random(seed)
    by_family: dict[str, list[Path]] = {}
    for path in sorted(tasks.rglob("*.yaml")):
        text = path.read_text(encoding="utf-8", errors="replace")
        if re.search(r"""^["']?task["']?: *["']?\w""", text, re.MULTILINE) and names_code(path):
            by_family.setdefault(path.relative_to(tasks).parts[0], []).append(path)
    families = draw.sample(sorted(by_family), len(by_family))
    for paths in by_family.values():
        draw.shuffle(paths)
    print(f"{sum(map(len, by_family.values()))} tasks of {len(families)} families name a function", flush=True)
    return [by_family[name][at] for at in range(6) for name in families if at < len(by_family[name])]


def write(folder: Path, name: str, path: Path, fitted: dict[str, Any], rows: dict[str, list[Any]]) -> None:
    """Write rows and a file that includes a task and names them."""
    files = {}
    for number, (split, part) in enumerate(rows.items()):
        files[split] = f"{folder}/{name}_{number}.jsonl"
        Path(files[split]).write_text("".join(json.dumps(row) + "\n" for row in part), encoding="utf-8")
    lines = [f"include: {path}", f"task: {name}", "dataset_path: json", "dataset_name: null", "tag: null"]
    lines += [f"dataset_kwargs: {json.dumps({'data_files': files})}"]
    lines += ["test_split: test"] if list(rows) == ["test"] else []
    (folder / f"{name}.yaml").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / f"{name}.replies").write_text(json.dumps(fitted["replies"]), encoding="utf-8")
    (folder / f"{name}.kind").write_text(fitted["kind"])
    if fitted["bare"]:
        (folder / f"{name}.bare").touch()


def main() -> None:
    """Draw tasks, fit rows to each, and write both."""
    folder, tasks, seed = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
    wanted, count = int(sys.argv[4]), int(sys.argv[5])
    logging.disable(logging.CRITICAL)
    datasets.disable_progress_bars()
    signal.signal(signal.SIGPROF, _stop)
    signal.signal(signal.SIGALRM, _stop)
    record = folder / "chosen.json"
    before = json.loads(record.read_text(encoding="utf-8")) if record.exists() else {}
    chosen: dict[str, str] = before.get("chosen", {})
    unfit: dict[str, str] = before.get("unfit", {})
    for path in draw_tasks(tasks, seed):
        if len(chosen) >= wanted:
            break
        label = str(path.relative_to(tasks))
        if label in unfit or label in chosen.values():
            continue  # of a run that was ended before
        began = time.monotonic()
        signal.setitimer(signal.ITIMER_PROF, 3 * SECONDS)
        signal.alarm(30)
        try:
            config = config_of(path)
            fitted = config if isinstance(config, str) else fit(config, path, count, f"{seed} {label}")
        except (Exception, Late, SystemExit) as error:  # noqa: BLE001 - a file that lm_eval itself does not read
            fitted = f"{type(error).__name__}: {error}".replace("\n", " ")[:200]
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.alarm(0)
        if isinstance(fitted, str):
            unfit[label] = fitted
            print(f"- {time.monotonic() - began:.0f} s", label, fitted, file=sys.stderr, flush=True)
        else:
            name = f"side_{len(chosen):03d}_{path.relative_to(tasks).parts[0]}"
            write(folder, name, path, *fitted)
            chosen[name] = label
            print(name, label, fitted[0]["metrics"], file=sys.stderr, flush=True)
        record.write_text(json.dumps({"chosen": chosen, "unfit": unfit}, indent=1), encoding="utf-8")


main()
