"""`markbook.review`: the review pipeline as one function."""

from __future__ import annotations

import inspect
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Unpack

from markbook.judge.panel import JudgeOptions, plain_judge
from markbook.runs.conductor import conduct
from markbook.runs.options import refuse_unknown
from markbook.runs.reviews import Reviews
from markbook.runs.reviews.config import ReviewConfig, check_policy, default_config, parse_similarity, read_config
from markbook.runs.reviews.plan import ReviewRequest, ReviewSettings
from markbook.store import Run

_Place = str | os.PathLike[str]


def review(  # noqa: PLR0913 - the command's options, each with its own default
    papers: _Place,
    reviews: _Place,
    *,
    traces: _Place | None = None,
    tool_reference: _Place | Mapping[str, object] | None = None,
    judge: str | Sequence[str] = "off",
    config: _Place | ReviewConfig | None = None,
    policy: str = "",
    similarity: Sequence[str] = (),
    output: _Place = "generated",
    resume: _Place | None = None,
    options: JudgeOptions | None = None,
    **settings: Unpack[ReviewSettings],
) -> Run:
    """Evaluate generated peer reviews in three tiers and return the finished run.

    The run that comes back has `scores`, `score(system)`, `to_pandas()` and `to_polars()`.

    Args:
        papers: a folder in the PeerRead layout, or one file of it.
        reviews: generated reviews: JSON or JSON Lines, or a folder of them or of runs.
        traces: a folder with one trace a paper.
        tool_reference: the right tools by context (`default` for the rest), for all papers or by paper; or a file of it.
        judge: `PROVIDER:NAME`, several for a panel, or `off`; `PROVIDER:NAME@URL` has a server of its own.
        config: a `config_eval.json`, or a configuration made in Python.
        policy: `require_complete`, `renormalise` or `bounds`; empty takes the configuration's.
        similarity: some of `semantic`, `cosine`, `jaccard`; empty takes the configuration's.
        output: where the run folder is made.
        resume: a run folder to go on with; give the same other arguments.
        options: how the judge is asked.
        **settings: `workers` (processes that compare texts and read traces), `engine` (where those run), `limit`, `name`,
            `tags` and so on, each with its type in `markbook.runs.reviews.plan.ReviewSettings`.

    Raises:
        DataError: no paper or no generated review can be read.
        ConfigError: a configuration that cannot be honoured.
        UnknownOptionError: an argument that does not exist.
        UsageError: a judge or run folder that cannot be used.
    """
    refuse_unknown(settings, [*inspect.signature(review).parameters, *ReviewSettings.__annotations__], "review")
    judges = (judge,) if isinstance(judge, str) else tuple(judge)
    request = ReviewRequest(
        papers=Path(papers),
        reviews=Path(reviews),
        traces=None if traces is None else Path(traces),
        config=_configure(config, policy, similarity, tool_reference),
        judges=tuple(name for name in judges if name != "off"),
        judge_options=options or JudgeOptions(),
        output=output,
        resume=resume,
        asked=_record_request((papers, reviews, traces, config, tool_reference), (judges, policy, similarity), options),
        **settings,
    )
    return conduct(Reviews(), request)


def _record_request(
    places: Sequence[object], words: tuple[Sequence[str], str, Sequence[str]], options: JudgeOptions | None
) -> dict[str, object]:
    """Return what was asked for, as --resume takes it up; nothing where a part of it was made in Python."""
    judges, policy, similarity = words
    request: dict[str, object] = {
        "judges": list(map(plain_judge, judges)),
        "policy": policy,
        "similarity": ",".join(similarity),
    }
    request |= (options or JudgeOptions()).to_options()
    names = ("papers", "reviews", "traces", "config_file", "tool_reference")
    inputs = {name: source for name, source in zip(names, places, strict=True) if source is not None}
    paths = {name: os.fspath(source) for name, source in inputs.items() if isinstance(source, str | os.PathLike)}
    return {**paths, **request} if len(paths) == len(inputs) else {}


def _configure(
    config: _Place | ReviewConfig | None,
    policy: str,
    similarity: Sequence[str],
    tool_reference: _Place | Mapping[str, object] | None,
) -> ReviewConfig:
    """Return the configuration with what was asked for beside it."""
    chosen = config if isinstance(config, ReviewConfig) else read_config(Path(config)) if config else default_config()
    if policy:
        chosen = replace(chosen, policy=check_policy(policy))
    if similarity:
        chosen = replace(
            chosen, similarity=parse_similarity(tuple(similarity)), semantic_asked="semantic" in similarity
        )
    if tool_reference is not None:
        references = tool_reference if isinstance(tool_reference, Mapping) else Path(tool_reference)
        chosen = replace(chosen, tool_reference=references)
    return chosen
