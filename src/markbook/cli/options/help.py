"""Help pages of commands with many options: in sections, the most wanted first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import click

Sections = Mapping[str, Sequence[str]]
"""Titles with the parameters under each."""

_RUN = ("output", "resume", "name", "tags", "notes")
_SHOWN = ("as_json", "verbose", "strict")
_GATES = ("fail_under", "fail_if_worse", "against", "stop_when", "allow_different_measures")
_MACHINE = ("workers", "engine", "isolation", "python")
_ASKING = (
    "model", "generator", "base_url", "samples", "gen_kwargs", "system", "turns", "num_fewshot", "concurrency", "per_minute", "retries",
    "request_seconds", "max_cost", "price",
)  # fmt: skip

EXAM: Sections = {
    "What is marked": ("benchmark", "solutions", "format", "extract", "check_benchmark", "skip_unavailable"),
    "Asking a model": _ASKING,
    "Limits and rules": (
        "timeout", "adaptive", "memory_mb", "error_policy", "profile", "all_tests", "fresh_tests", "in_process", "seed",
    ),
    "Gates and stopping": _GATES,
    "This machine": (*_MACHINE, "no_dedupe", "reuse_verdicts"),
    "The run": _RUN,
    "What is printed": _SHOWN,
}  # fmt: skip
RUN: Sections = {
    "What is marked": ("predictions", "data", "limit", "contexts", "missing", "profile", "seed"),
    "Asking a model": _ASKING,
    "Asking judges": (
        "judges", "judge_url", "cassette", "judge_samples", "judge_temperature", "judge_mode", "judge_token_weights",
        "judge_retries", "judge_timeout", "judge_per_minute", "judge_workers", "judge_max_cost", "judge_price",
    ),
    "What tasks may do": ("allow_code", "allow_unsafe_code", "allow_download", "timeout"),
    "Gates and stopping": _GATES,
    "This machine": _MACHINE,
    "The run": _RUN,
    "What is printed": _SHOWN,
}  # fmt: skip
REVIEW: Sections = {
    "What is marked": ("papers", "reviews", "traces", "tool_reference", "limit"),
    "Asking judges": (
        "judges", "base_url", "cassette", "samples", "temperature", "judge_mode", "max_retries", "judge_timeout",
        "requests_per_minute", "judge_workers", "max_cost", "judge_price", "token_weights",
    ),
    "Scores": ("config_file", "policy", "similarity", "calibrate", "rescored", "profile", "seed"),
    "Gates": _GATES,
    "This machine": _MACHINE,
    "The run": _RUN,
    "What is printed": (*_SHOWN, "log_file"),
}  # fmt: skip


class Grouped(click.Command):
    """A command whose options are shown in sections; those of no section come last."""

    sections: ClassVar[Sections] = {}

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, section by section."""
        records = {
            str(parameter.name): (_short(record[0]), record[1])
            for parameter in self.get_params(ctx)
            if isinstance(parameter, click.Option) and (record := parameter.get_help_record(ctx)) is not None
        }
        for title, names in self.sections.items():
            if rows := [records.pop(name) for name in names if name in records]:
                with formatter.section(title):
                    formatter.write_dl(rows)
        if records:
            with formatter.section("Options"):
                formatter.write_dl([*records.values()])


def _short(names: str) -> str:
    """Return an option's names with a word for its value that leaves room for what it means."""
    for long, short in (("INTEGER RANGE", "N"), ("FLOAT RANGE", "X"), ("INTEGER", "N"), ("[|", "[")):
        names = names.replace(long, short)
    return names
