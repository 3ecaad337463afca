"""What the user says over a task file: worked examples, generation, the system message."""

from __future__ import annotations

from dataclasses import replace

from markbook.config import Sampling, Task
from markbook.errors import UsageError
from markbook.load.joining import beside
from markbook.plugins import suggest
from markbook.runs.tasks.options import TaskOptions

_NUMBERS = {
    "temperature": ("temperature", float),
    "top_p": ("top_p", float),
    "max_gen_toks": ("max_tokens", int),
    "max_new_tokens": ("max_tokens", int),
    "max_tokens": ("max_tokens", int),
    "seed": ("seed", int),
}
_STOPS, _IGNORED = "until", "do_sample"


def overridden(task: Task, options: TaskOptions) -> Task:
    """Return a task as the user wants it asked.

    Raises:
        UsageError: `--gen-kwargs` that are none.
    """
    if options.num_fewshot is not None:
        task = replace(task, few_shot=replace(task.few_shot, count=options.num_fewshot))
    if options.gen_kwargs:
        task = replace(task, sampling=sampling_with(task.sampling, options.gen_kwargs))
    if options.system:
        task = replace(task, system=beside(options.system, task.system, task.delimiters[1]))
    return task


def sampling_with(sampling: Sampling, text: str) -> Sampling:
    """Return how a model is asked, with `KEY=VALUE,...` over what the task says.

    Raises:
        UsageError: an unknown key, a value out of range.
    """
    changed: dict[str, float | None] = {}
    stops: list[str] = []
    for pair in text.split(","):
        key, sign, value = (part.strip() for part in pair.partition("="))
        if key == _STOPS and sign:
            stops.append(value)
        elif key in _NUMBERS and sign:
            name, kind = _NUMBERS[key]
            changed[name] = _number(key, value, kind)
        elif key != _IGNORED or not sign:
            hint = suggest(key, [*_NUMBERS, _STOPS]) if sign else "KEY=VALUE,KEY=VALUE"
            raise UsageError(f"--gen-kwargs: {pair.strip()!r} says nothing that a server is told", hint=hint)
    found = replace(sampling, **changed)  # type: ignore[arg-type]  # each is of its field's type, by the table above
    return replace(found, stop=tuple(stops)) if stops else found


def _number(key: str, value: str, kind: type[float]) -> float:
    try:
        number = kind(value)
    except ValueError:
        number = -1
    least = 1 if key.startswith("max") else 0
    if not least <= number < float("inf") or (key == "top_p" and not 0 < number <= 1):
        raise UsageError(f"--gen-kwargs: {key} cannot be {value!r}")
    return number
