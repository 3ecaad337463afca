"""The questions that a benchmark puts to a model, and its replies as a file of answers like any other.

Imported only where a model is asked: what asks models is slow to load, and an exam of answers that exist needs none of it.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from markbook.benchmarks.problems import Benchmark
from markbook.config import Sampling
from markbook.errors import IncompleteError, UsageError
from markbook.languages import language
from markbook.model import PromptRequest
from markbook.report.words import TokenUsage
from markbook.runs.asking import Replies, connect_generator, goes_on, make_settings, sampling_with, sum_usage
from markbook.runs.exam.view import ANSWERS
from markbook.runs.kind import Watcher
from markbook.store import RunWriter
from markbook.types import ProblemType, Sample, digest_text

if TYPE_CHECKING:
    from markbook.benchmarks.answers import Answers
    from markbook.runs.exam.exam_options import ExamOptions

_SHOW_TESTS = frozenset(("mbpp", "mbpp-sanitized"))
"""Benchmarks whose authors show the tests: their texts name neither the function nor its arguments."""
_FENCED = "in one fenced code block"
_STOPS = ("\nclass ", "\ndef ", "\n@", "\nif __name__", "\nprint(", "\nassert ", "\n```", "\n#")
"""Where a text that goes on with a Python function has come to its end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Questions:
    """What a model is asked, and who asks it."""

    options: ExamOptions
    benchmark: Benchmark
    generator: Any
    requests: Sequence[PromptRequest]
    """By problem and sample, in benchmark order."""
    count: int
    """Answers a problem."""

    @property
    def digest(self) -> str:
        """SHA-256 over all that is asked: a resumed run asks the same."""
        keys_and_prompts = [[*request.key, request.prompt, request.system] for request in self.requests]
        return digest_text(json.dumps(keys_and_prompts))


def plan_questions(benchmark: Benchmark, options: ExamOptions) -> Questions:
    """Return what a model is asked.

    Raises:
        UsageError: no provider in the name, settings that are none, or a benchmark that such a model cannot be asked.
    """
    if options.stop_when:
        raise UsageError(
            "--stop-when needs answers that exist: with --model every question of an exam is asked",
            hint=f"ask once, then mark the run's {ANSWERS} with --solutions and --stop-when",
        )
    continues = goes_on(options)
    sampling = sampling_with(Sampling(), options.gen_kwargs) if options.gen_kwargs else Sampling()
    count = options.samples or 1
    requests = []
    for sample in benchmark.samples:
        prompt, stops = (
            _continue_text(sample, benchmark.format) if continues else (_ask_in_turns(sample, benchmark.format), ())
        )
        settings = make_settings(sampling, options.seed, stops)
        system = "" if continues else options.system
        # A model that continues texts knows no roles: the system message is the beginning of its text.
        prompt = options.system + prompt if continues else prompt
        requests += [PromptRequest((sample.id, index), prompt, system, settings) for index in range(count)]
    generator = connect_generator(options)
    return Questions(options=options, benchmark=benchmark, generator=generator, requests=requests, count=count)


def _ask_in_turns(sample: Sample, benchmark: str) -> str:
    """Return the question to a model that answers in turns."""
    title, text = _title(sample), sample.input.strip()
    if sample.problem_type is ProblemType.TEXT:
        return text
    if sample.problem_type is ProblemType.STDIN:
        how = "that reads from standard input and writes to standard output"
        return f"{text}\n\nWrite a whole {title} program {how}. Reply with the program {_FENCED}."
    code = sample.prompt_code
    if code:
        about = "" if text in code else f"{text}\n\n"
        tag = sample.language or "python"
        instruction = f"Reply with the whole code, imports included, {_FENCED}."
        return f"{about}Complete this {title} code. {instruction}\n\n```{tag}\n{code.rstrip()}\n```"
    return f"{_state_problem(sample, benchmark)}\n\nWrite it in {title}. Reply with the code {_FENCED}."


def _continue_text(sample: Sample, benchmark: str) -> tuple[str, tuple[str, ...]]:
    """Return the text that a model goes on with, and where that ends; UsageError where nobody can tell."""
    if sample.language:
        raise UsageError(
            f"a model that continues texts is asked for Python only, and {sample.id!r} wants {_title(sample)}",
            at=sample.source,
            hint="a chat model is asked in any language",
        )
    if sample.prompt_code:
        return sample.prompt_code, _STOPS
    text = f"{_state_problem(sample, benchmark)}\n\n"
    # Opening the block for the model makes it answer in code, and the block's end says where to stop.
    return (text, ()) if sample.problem_type is ProblemType.TEXT else (f"{text}```python\n", ("\n```",))


def _title(sample: Sample) -> str:
    return language(sample.language).title if sample.language else "Python"


def _state_problem(sample: Sample, benchmark: str) -> str:
    """Return the problem, with the name that the tests will ask for where it does not say it."""
    text, name = sample.input.strip(), sample.entry_point
    if benchmark in _SHOW_TESTS:
        text += "\n\nYour code should pass these tests:\n\n" + "".join(test.program for test in sample.tests).rstrip()
    if not name or re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text):
        return text
    kind = "class" if sample.problem_type is ProblemType.CLASS else "function"
    return f"{text}\n\nThe {kind} is called `{name}`."


@dataclass(frozen=True, slots=True, kw_only=True)
class Collected:
    """What came of asking."""

    usage: TokenUsage
    lacking: frozenset[str]
    """The problems of which an answer is lacking."""
    reasons: Mapping[str, int]
    """Why, and how many answers each reason has cost."""


def ask(questions: Questions, answers: Answers, journal: RunWriter, watch: Watcher) -> Collected:
    """Ask what nobody asked yet, write the replies into the run folder, and read them as the exam's answers.

    Raises:
        IncompleteError: not one question was answered.
    """
    collector = Replies(journal, questions.generator, watch, len(questions.requests))
    replies = collector.replies_to(questions.requests)
    options, model = questions.options, str(questions.options.model)
    samples = {sample.id: sample for sample in questions.benchmark.samples}
    continues = goes_on(options)
    lines = []
    for key, reply in replies.items():
        # A continuation begins in the middle of the function, and is code only together with its prompt.
        is_rest = continues and bool(samples[str(key[0])].prompt_code)
        text = None if reply.missing is not None else reply.text  # null where nobody answered
        row = {"task_id": key[0], "model": model, "sample": key[1]}
        lines.append(json.dumps({**row, "completion" if is_rest else "candidate_solution": text}, ensure_ascii=False))
    # Read back as a file of answers: an exam of a model goes the way of an exam of a file from here on.
    journal.publish({ANSWERS: "".join(f"{line}\n" for line in lines)})
    lost = [reply for reply in replies.values() if reply.missing is not None]
    reasons = Counter(reply.missing.detail for reply in lost if reply.missing is not None)
    # Not one answer: a wrong key or address. An exam that is absent throughout would read like a bad model.
    if len(lost) == len(replies):
        why = next(iter(reasons), "")
        hint = f"markbook exam --resume {journal.folder} asks again"
        raise IncompleteError(f"{model} answered none of {len(replies)} questions: {why}", hint=hint)
    answers.read(journal.folder / ANSWERS, options.extract)
    return Collected(
        usage=sum_usage(list(replies.values())), lacking=frozenset(str(reply.key[0]) for reply in lost), reasons=reasons
    )
