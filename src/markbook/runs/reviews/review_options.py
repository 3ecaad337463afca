"""What `markbook review` may be asked beside its judges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from markbook.judge.judge_options import ASKED, JudgeOptions, judges_would_send_key, plain_judge
from markbook.option import (
    ASKING_JUDGES,
    FILE,
    MARKED,
    SCORES,
    CountRange,
    NumberRange,
    choice,
    declaration,
    option,
    run_option,
    values_of_command,
)
from markbook.runs.options import RunOptions, RunSettings, strict_option, workers_option

if TYPE_CHECKING:
    from markbook.runs.reviews.config import ReviewConfig

_Profile = Literal["corrected", "documented"]


def _review_option(default: Any, flag: str, section: str, **declared: Any) -> Any:
    return option(default, flag, section=section, kept=ASKED, **declared)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewOptions(RunOptions):
    """What to evaluate, and how. `workers` compare texts and read traces; judges are asked beside them in any case.

    It is kept whole in run.json under `asked`. What of it can change a result is read into a `ReviewConfig`
    (`reviews.config_file.resolve_config`).
    """

    papers: Path | None = _review_option(
        None, "--papers", MARKED, values=FILE, help="Papers and human reviews in the PeerRead layout (folder or file)."
    )
    reviews: Path | None = _review_option(
        None,
        "--reviews",
        MARKED,
        values=FILE,
        help="Generated reviews: JSON or JSON Lines, or a folder of them or of runs.",
    )
    traces: Path | None = _review_option(
        None, "--traces", MARKED, values=FILE, help="A folder of traces, one file per paper or per <system>/<paper>."
    )
    tool_reference: Path | Mapping[str, object] | None = _review_option(
        None,
        "--tool-reference",
        MARKED,
        values=FILE,
        help="JSON file of expected tools, {context: [tools]}, for all papers or by paper. Key `default`: all other contexts.",
    )
    limit: int | None = _review_option(
        None, "--limit", MARKED, values=CountRange(1), help="Only the first N generated reviews."
    )
    judges: Sequence[str] = _review_option(
        ("off",),
        "--judge",
        ASKING_JUDGES,
        repeats=True,
        help="PROVIDER:NAME, or off; repeat for a panel. PROVIDER:NAME@URL names its server.",
        shows_default=False,
        # A judge's address out of a foreign run.json would be sent the user's key.
        danger=judges_would_send_key,
    )
    config_file: Path | None = _review_option(
        None,
        "--config",
        SCORES,
        parameter="config_file",
        values=FILE,
        help="Weights, thresholds and policy: a config_eval.json.",
    )
    policy: str = _review_option(
        "", "--policy", SCORES, help="Missing metrics: require_complete (default), renormalise, bounds."
    )
    similarity: str = _review_option("", "--similarity", SCORES, help="Similarities: any of semantic,cosine,jaccard.")
    calibrate: float | None = _review_option(
        None,
        "--calibrate",
        SCORES,
        values=NumberRange(0, 100),
        help="Set the success threshold to this percentile of the similarity between human reviews.",
    )
    rescored: Path | None = option(
        None,
        "--rescore",
        parameter="rescored",
        values=FILE,
        help="Rescore this run with another --config or --policy; nothing is queried or measured.",
        section=SCORES,
        changes_results=False,
    )
    profile: _Profile = _review_option(
        "corrected",
        "--profile",
        SCORES,
        values=choice(_Profile),
        help="documented reproduces the formulas of the original document, faults included.",
    )
    seed: int = _review_option(0, "--seed", SCORES, values=CountRange(), help="Seed of resampling and of the judge.")
    workers: int | None = workers_option("Parallel workers for similarities and traces [default: 1].")
    output: Path = run_option(Path("generated"), "-o", "--output", values=FILE, help="Folder for the run folder.")
    strict: bool = strict_option("Stop at the first file or row that cannot be read (exit 65).")
    judging: JudgeOptions = field(default_factory=JudgeOptions)
    config: ReviewConfig | None = None
    """One that was made in Python, in place of a file."""

    def asked(self) -> dict[str, object]:
        """Return what run.json keeps of them, without secrets: what `--resume` takes up."""
        if self.config is not None or isinstance(self.tool_reference, Mapping):
            return {}  # what was made in Python has no path from which it could be read again
        values = values_of_command(self, [field.name for field in fields(self) if declaration(field).kept == ASKED])
        return {**values, "judges": list(map(plain_judge, self.judges)), **self.judging.to_options()}


class ReviewSettings(RunSettings, total=False):
    """The keyword arguments of `review` that every kind of run has, but for those that it names itself."""

    limit: int | None
    reports: Sequence[str]
