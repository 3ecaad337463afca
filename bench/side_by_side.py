"""Tasks of lm-evaluation-harness asked by lm_eval and by Markbook of one server: prompts and values held against each other.

python -m bench.side_by_side TASKS_FOLDER --harness-python PYTHON [--tasks 60] [--rows 24] [--turns]
PYTHON -m bench.side_by_side TASKS_FOLDER --code SEED [--tasks 100] [--rows 12]

TASKS_FOLDER is the harness's `lm_eval/tasks`; PYTHON has lm_eval. Tasks are taken whose texts are templates, at most two a
family (six with --turns), over rows that are made up to fit their fields (their data sets lie on the hub): for each, a file that includes the
original and names these rows. What either side sends is logged by the server (`bench._model_server`, no real model);
prompts are the same where the two logs hold the same texts. With --turns the tasks that are answered by texts are asked as
chats, with worked examples as turns. With --code tasks are drawn by a seed, from all families, that name a `!function`: their own
code runs on both sides, so both run in one environment, which has lm_eval (`make interop`) and whatever the code imports.
Rows are made up to fit that code as lm_eval runs it (`bench/_fitted_rows.py`). What fits no rows is counted by its reason.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import os
import random
import shlex
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any, Self

from jinja2 import Environment, nodes

import markbook
from bench.task_language import check_task
from markbook import config
from markbook.config import Task
from markbook.datasets.choices import Weighing
from markbook.datasets.user_code import nothing
from markbook.errors import MarkbookError
from markbook.runs.tasks.scorers import right_places

ROOT = Path(__file__).resolve().parents[1]
PREFIX = "¤"
WORDS = ("red", "blue", "green", "seven", "eleven", "north", "south", "apple", "river", "stone", "quick", "lazy")
SPLITS = ("training_split", "validation_split", "test_split", "fewshot_split")
_MOST_TRIES = 12


def shapes(task: Task) -> dict[str, str]:
    """Return what each field of a row has to be, by how the task's templates use it."""
    texts = (task.prompt, task.references, task.choices, task.few_shot.prompt, task.few_shot.references)
    sources = [
        text.template or f"{{{{ {text.fields[0]} }}}}"
        for text in texts
        if text is not None and (text.template or text.fields)
    ]
    found: dict[str, str] = {}
    for source in (*sources, task.description, task.prefix):
        tree = Environment(extensions=["jinja2.ext.loopcontrols"]).parse(source or "")
        own = {each.name for each in tree.find_all(nodes.Name) if each.ctx == "store"}
        for name in tree.find_all(nodes.Name):
            if name.ctx == "load" and name.name not in own:
                found.setdefault(name.name, "text")
        for node in tree.find_all(nodes.Getitem):
            if isinstance(node.node, nodes.Name):
                found[node.node.name] = "list" if not isinstance(getattr(node.arg, "value", 0), str) else "dict"
        for loop in tree.find_all(nodes.For):
            if isinstance(loop.iter, nodes.Name):
                found[loop.iter.name] = "list"
        for part in tree.find_all(nodes.Getattr):
            if isinstance(part.node, nodes.Name) and part.attr in ("index", "text", "label"):
                found[part.node.name] = "list" if part.attr == "index" else "dict"
    if task.choices is not None and task.choices.fields:
        found[task.choices.fields[0]] = "list"
    return {name: shape for name, shape in found.items() if name not in ("range", "loop", "namespace", "dict", "zip")}


def made_rows(task: Task, count: int, seed: str, variant: int) -> list[dict[str, Any]]:
    """Return rows; the variants try what the one field that tells the right answer may be."""
    draw = random.Random(f"{seed} {variant}")
    gold = task.references.fields[0] if task.references is not None and task.references.fields else ""
    rows = []
    for number in range(count):
        row: dict[str, Any] = {}
        for name, shape in shapes(task).items():
            several = draw.sample(WORDS, 4)
            if shape == "list":
                row[name] = several
            elif shape == "dict":
                row[name] = {"text": several, "label": list("ABCD")}
            elif variant % 3 and any(
                part in name.lower() for part in ("label", "answer", "gold", "idx", "target", gold or "~")
            ):
                row[name] = draw.randrange(2) if variant % 3 == 1 else draw.choice("AB")
            else:
                row[name] = " ".join(several[: 1 if name == gold else 4])
        rows.append({**row, "number_of_row": number})
    return rows


def _is_whole(weighing: Weighing) -> bool:
    """Whether choices differ and one of them is right."""
    return not weighing.choices or (
        len(set(weighing.choices)) == len(weighing.choices) and bool(right_places(weighing))
    )


def derived(path: Path, task: Task, folder: Path, name: str, count: int) -> bool:
    """Write a file that includes a task and names rows made up for it; return whether it can be run."""
    raw = {key: task.resolved.get(key) for key in SPLITS}
    splits = list(dict.fromkeys(str(value) for value in raw.values() if value))
    for variant in range(_MOST_TRIES):
        files = {}
        for split in splits or ["test"]:
            rows = made_rows(task, count, f"{name} {split}", variant)
            (folder / f"{name}_{splits.index(split) if splits else 0}.jsonl").write_text(
                "".join(json.dumps(row) + "\n" for row in rows)
            )
            files[split] = f"{folder}/{name}_{splits.index(split) if splits else 0}.jsonl"
        lines = [f"include: {path}", f"task: {name}", "dataset_path: json", "dataset_name: null"]
        lines += [f"dataset_kwargs: {json.dumps({'data_files': files})}", "tag: null"]
        lines += [] if splits else ["test_split: test"]
        target = folder / f"{name}.yaml"
        target.write_text("\n".join(lines) + "\n")
        try:
            from markbook.datasets.samples import load_samples

            found = config.load(target)
            assert isinstance(found, Task)
            samples = load_samples(found)
            if len(samples.samples) == count and all(map(_is_whole, samples.weighings.values())):
                (folder / f"{name}.kind").write_text(found.output)
                if samples.weighings and not any(pair[0] for w in samples.weighings.values() for pair in w.pairs):
                    (folder / f"{name}.bare").touch()
                return True
        except (MarkbookError, RecursionError, ValueError, TypeError):
            pass
        target.unlink()
    return False


def chosen(tasks: Path, folder: Path, wanted: int, rows: int, *, turns: bool) -> dict[str, Path]:
    """Return the tasks that are asked, by their new names; with turns only what a chat can answer."""
    most = 6 if turns else 1
    found: dict[str, Path] = {}
    kinds: Counter[str] = Counter()
    for family in sorted(each for each in tasks.iterdir() if each.is_dir()):
        taken: Counter[str] = Counter()
        for path in itertools.islice(sorted(family.rglob("*.yaml")), 40):
            try:
                task = config.load(path)
                if not isinstance(task, Task) or taken[task.output] >= most or taken.total() > most:
                    continue
                if turns and (task.output != "generate_until" or task.prefix):
                    continue
                check_task(task, nothing)
            except MarkbookError:
                continue
            name = f"side_{len(found):03d}_{family.name}"
            if derived(path, task, folder, name, rows):
                found[name] = path
                taken[task.output] += 1
                kinds[task.output] += 1
        if len(found) >= wanted + 15:
            break
    print(f"{len(found)} tasks of {len({name[9:] for name in found})} families: {dict(kinds)}")
    return found


class Server:
    """The model server, with a log of what it was sent."""

    def __init__(self, log: Path, replies: dict[str, str]) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.log = log
        known = log.with_name("replies.json")
        known.write_text(json.dumps(replies), encoding="utf-8")
        command = [sys.executable, "-m", "bench._model_server", str(self.port), str(log), str(known)]
        self.process = subprocess.Popen(command, cwd=ROOT)

    def prompts(self, start: int = 0, end: int | None = None) -> set[str]:
        """Return the prompts, as texts, that came between two sizes of the log."""
        lines = self.log.read_bytes()[start:end].splitlines() if self.log.exists() else []
        bodies = [json.loads(line) for line in lines]
        return {
            json.dumps(body.get("messages") or body.get("prompt"), ensure_ascii=False, sort_keys=True)
            for body in bodies
        }

    def empty(self) -> None:
        """Begin the log anew."""
        self.log.write_text("")

    def __enter__(self) -> Self:
        while self.process.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
            except OSError:
                time.sleep(0.1)
            else:
                return self
        raise RuntimeError("the server does not start")

    def __exit__(self, *_error: object) -> None:
        self.process.terminate()
        self.process.wait()


def fit_tasks(tasks: Path, folder: Path, args: argparse.Namespace, env: dict[str, str]) -> dict[str, Path]:
    """Return tasks with code of their own, by their new names."""
    program = str(ROOT / "bench" / "_fitted_rows.py")
    numbers = (args.code, str(args.tasks), str(args.rows))
    subprocess.run([*shlex.split(args.harness_python), program, str(folder), str(tasks), *numbers], check=True, env=env)
    record = json.loads((folder / "chosen.json").read_text(encoding="utf-8"))
    for label, why in record["unfit"].items():
        print(f"- {label}: no rows: {why}")
    families = {label.partition("/")[0] for label in record["chosen"].values()}
    print(f"{len(record['chosen'])} tasks of {len(families)} families, {len(record['unfit'])} drawn that no rows fit")
    return {name: tasks / label for name, label in record["chosen"].items()}


def ours(name: str, folder: Path, port: int, *, turns: bool, code: bool) -> dict[str, float | None]:
    """Return the values that Markbook gives."""
    bare = (folder / f"{name}.bare").exists()  # there theirs puts the model's first token before the text
    run = markbook.run_task(
        folder / f"{name}.yaml",
        model="openai:m" if turns else "completions:m",
        base_url=f"http://127.0.0.1:{port}/v1",
        output=folder / "out",
        turns=turns,
        system=PREFIX if bare else "",
        allow_code=code,
        allow_unsafe_code=code,
    )
    summary = json.loads((run.folder / "summary.json").read_text())["tasks"][name]["metrics"]
    return {key: metric["value"] for key, metric in summary.items()}


def same(mine: dict[str, float | None], theirs: dict[str, Any]) -> list[str]:
    """Return which values differ; corpus BLEU, chrF and TER may go from 0 to 100 there."""
    found = []
    for key, value in mine.items():
        name, _, pipeline = key.partition(",")
        other = next(
            (v for k, v in theirs.items() if k.partition(",")[0] == name and pipeline in ("", k.partition(",")[2])),
            None,
        )
        if value is None and other is None:
            continue
        scales = (100, 1) if name in ("bleu", "chrf", "ter") else (1,)  # a task's own function may give shares
        if (
            value is None
            or not isinstance(other, int | float)
            or not any(math.isclose(value, other / scale, rel_tol=1e-9, abs_tol=1e-9) for scale in scales)
        ):
            found.append(f"{key}: {value} here, {other} there")
    for key, value in theirs.items():
        name, comma, pipeline = key.partition(",")
        if comma and not name.endswith("_stderr") and name not in mine and f"{name},{pipeline}" not in mine:
            found.append(f"{key}: not here, {value} there")
    return found


def main() -> None:
    """Print which tasks agree and which do not."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--harness-python", default=sys.executable)
    parser.add_argument("--tasks", type=int, default=60)
    parser.add_argument("--rows", type=int, default=24)
    parser.add_argument("--turns", action="store_true")
    parser.add_argument("--code", metavar="SEED", default="", help="draw tasks with code of their own, by this seed")
    parser.add_argument("--keep", type=Path, help="a folder for what is made; drawing goes on where it ended there")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = (args.keep or Path(temporary)).resolve()
        folder.mkdir(exist_ok=True, parents=True)
        env = {
            **os.environ,
            "HF_HUB_OFFLINE": "1",
            "HF_DATASETS_OFFLINE": "1",
            "HF_ALLOW_CODE_EVAL": "1",
            "OPENAI_API_KEY": "none",
            "HF_HOME": str(folder / "hub"),
        }
        os.environ.update(env)  # the code of tasks runs here too
        source = args.folder.resolve()
        if args.code:
            tasks = fit_tasks(source, folder, args, env)
        else:
            tasks = chosen(source, folder, args.tasks, args.rows, turns=args.turns)
        replies = {
            prompt: reply
            for path in sorted(folder.glob("side_*.replies"))
            for prompt, reply in json.loads(path.read_text(encoding="utf-8")).items()
        }
        with Server(folder / "log.jsonl", replies) as server:
            command = [
                *shlex.split(args.harness_python),
                str(ROOT / "bench" / "_harness_side.py"),
                str(folder),
                str(server.port),
                "turns" if args.turns else "text",
            ]
            harness = subprocess.run(command, check=False, env=env, capture_output=True, text=True)
            if harness.returncode:
                sys.exit(f"lm_eval failed:\n{harness.stderr[-2000:]}")
            theirs = json.loads((folder / "theirs.json").read_text())
            size = 0
            for record in theirs.values():
                record["prompts"] = server.prompts(size, record["log"])
                size = record["log"]
            report({name: str(path.relative_to(source)) for name, path in tasks.items()}, theirs, folder, server, args)


def report(
    tasks: dict[str, str], theirs: dict[str, Any], folder: Path, server: Server, args: argparse.Namespace
) -> None:
    """Ask each task that the harness could do, and print how it compares."""
    good: list[str] = []
    numbers = 0
    for name, label in tasks.items():
        if name not in theirs:
            continue
        if "error" in theirs[name]:
            print(f"- {label}: not run by lm_eval: {theirs[name]['error'].splitlines()[0][:120]}")
            continue
        server.empty()
        try:
            values = ours(name, folder, server.port, turns=args.turns, code=bool(args.code))
        except MarkbookError as error:
            print(f"! {label}: refused here: {error}")
            continue
        mine, there = server.prompts(), theirs[name]["prompts"]
        strange = sorted(mine - there)
        lacking = len(there - mine)
        differ = same(values, theirs[name]["results"])
        if strange or lacking or differ or not mine or not values:
            print(
                f"! {label}: {len(strange)} of {len(mine)} prompts unknown there, {lacking} of theirs not asked; {'; '.join(differ)}"
            )
            print(f"    {strange[0][:300]}" if strange else "")
        else:
            good.append(name)
            numbers += len(values)
    families = {tasks[name].partition("/")[0] for name in good}
    print(
        f"{len(good)} tasks of {len(families)} families, {numbers} values: every prompt byte-equal, every value equal"
    )


if __name__ == "__main__":
    main()
