"""Which tasks a model can be asked, and one row's answer out of the replies to its several questions."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from markbook.errors import UsageError
from markbook.model import ModelReply
from markbook.model.lean import COMPLETIONS
from markbook.runs.asking import goes_on

if TYPE_CHECKING:
    from markbook.runs.tasks.options import TaskOptions
    from markbook.runs.tasks.plan import TaskPlan


def check_askable(tasks: Sequence[TaskPlan], options: TaskOptions) -> None:
    """Find out whether a model can answer the tasks.

    Raises:
        UsageError: it cannot, and what can.
    """
    continues = goes_on(options)
    other = f"--model {COMPLETIONS}:NAME asks a server that continues texts; --predictions takes answers that exist"
    if continues and options.turns:
        raise UsageError(f"--turns does not go with {COMPLETIONS}:, which knows no turns")
    for task_plan in tasks:
        name, beams = repr(task_plan.task.name), task_plan.task.sampling.beams
        if task_plan.rows.weighings and not continues:
            raise UsageError(
                f"{name} is answered by how likely given texts are, which a chat model does not say", hint=other
            )
        if task_plan.task.prefix and not continues:
            raise UsageError(
                f"{name} begins the reply for the model (`gen_prefix`), which chat servers do not offer", hint=other
            )
        if beams > 1:
            raise UsageError(
                f"{name} wants a beam search (`num_beams: {beams}`), which no server offers",
                hint="--predictions takes answers that exist",
            )
        if (
            task_plan.task.output != "loglikelihood_rolling"
            and not options.system
            and any(not context for weighing in task_plan.rows.weighings.values() for context, _ in weighing.pairs)
        ):
            raise UsageError(
                f"{name} weighs texts with nothing before them, and no server says how likely a text's first token is",
                hint="--system names what stands there; lm-evaluation-harness puts the model's first token, such as <s>",
            )


def together(key: tuple[str | int, ...], replies: Sequence[ModelReply]) -> ModelReply:
    """Return the answer to a row that is weighed text by text: all log-likelihoods, or why one is missing."""
    lacking = next((reply for reply in replies if reply.missing is not None), None)
    if lacking is not None:
        return replace(lacking, key=key)
    text = json.dumps([json.loads(reply.text) for reply in replies])
    read = [reply.input_tokens for reply in replies]
    written = [reply.output_tokens for reply in replies]
    costs = [reply.cost for reply in replies]
    return ModelReply(
        key,
        text=text,
        finish="stop",
        input_tokens=None if None in read else sum(count or 0 for count in read),
        output_tokens=None if None in written else sum(count or 0 for count in written),
        cost=None if None in costs else sum(cost or 0.0 for cost in costs),
        requests=sum(reply.requests for reply in replies),
        seconds=sum(reply.seconds for reply in replies),
    )
