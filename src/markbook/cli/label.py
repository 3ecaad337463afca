"""`markbook label`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from markbook.cli.options import Grouped, completing, run_names, say
from markbook.errors import UsageError

if TYPE_CHECKING:
    from markbook.judge.rubrics import Rubric

_EXAMPLES = """
\b
Examples:
  markbook label generated/latest --rater ann --rubric helpfulness \\
      --score helpful
  markbook label generated/latest --rater ann --rater bob --count 200
  markbook label generated/latest --rater ann --pair new old
  markbook label traces.json --rater ann --reasons
  markbook judge correct --judged generated/latest --score helpful \\
      --labels generated/latest/labels
"""


@click.command("label", cls=Grouped, epilog=_EXAMPLES)
@click.argument("run", type=click.Path(), metavar="RUN", shell_complete=completing(run_names, files=True))
@click.option("--rater", "raters", multiple=True, required=True, metavar="NAME", help="Name of a rater; repeatable.")
@click.option("--rubric", help="Name of a built-in rubric, or a .yaml file [default: quality, 1 to 5].")
@click.option(
    "--scale", nargs=2, type=int, metavar="LOW HIGH", help="Lowest and highest score, without a rubric [1 5]."
)
@click.option(
    "--pair", nargs=2, metavar="A B", help="Label which of these two models' answers is better, side by side."
)
@click.option(
    "--reasons", is_flag=True, help="Label the reason of each failure: RUN is a file of traces, or a run with failures."
)
@click.option(
    "--reason", "words", multiple=True, metavar="WORDS", help="With --reasons: a reason of your own; repeatable."
)
@click.option(
    "--count", type=click.IntRange(1), default=100, show_default=True, help="Number of items; may be raised later."
)
@click.option(
    "--score", help="The judge's score whose uncertainty guides the sampling [default: the run's first metric]."
)
@click.option("--alike", is_flag=True, help="Sample items uniformly.")
@click.option("--labels", type=click.Path(path_type=Path), help="Folder for the labels [default: labels in RUN].")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the sample and its order.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Port on 127.0.0.1 [default: a free one].")
@click.option("--open", "open_browser", is_flag=True, help="Open the first rater's page in the browser.")
def command(run: str, raters: tuple[str, ...], port: int, *, open_browser: bool, **options: Any) -> int:
    """Label answers of a run blindly, by keyboard, in a local page, until interrupted.

    Neither the model's name nor the judge's score is shown, and each rater gets a different order. Half of each item's sampling
    weight is uniform, half depends on the judge's uncertainty. Each label records its probability for `judge correct`. With
    --reasons, raters choose the reason why a trace or an attempt failed. Every label is saved before the next item is shown: run
    the same command again to continue.
    """
    from markbook.report.html import label_script
    from markbook.report.label_pages import LabelPages
    from markbook.report.label_session import SittingOptions, open_sitting, reason_rubric
    from markbook.report.local_server import LocalServer

    named = options.pop("rubric"), options.pop("scale"), options["pair"]
    words = options.pop("words")
    options["reasons"] = bool(options["reasons"] or words)
    if options["reasons"] and any(named):
        raise UsageError("reasons are a question of their own: leave --rubric, --scale and --pair out")
    rubric = reason_rubric(words) if options["reasons"] else _rubric(*named)
    with open_sitting(SittingOptions(run, raters, rubric=rubric, **options)) as (session, notes):
        for note in notes:
            say(f"markbook: {note}")
        with LocalServer(LabelPages(session), port, who=raters, script=label_script(), takes_forms=True) as server:
            for rater in raters:
                click.echo(f"{rater}  {server.get_address(rater)}")
            click.echo("Press Ctrl-C to stop.", err=True)
            if open_browser:
                import webbrowser

                webbrowser.open(server.get_address(raters[0]))
            try:
                server.serve_forever()
            finally:
                # Also after Ctrl-C, by which a sitting is usually ended.
                for rater, book in session.books.items():
                    total = len(session.order(rater))
                    click.echo(f"{rater}: {len(book.labels)} of {total} labelled, in {book.path}", err=True)
    return 0


def _rubric(named: str | None, scale: tuple[int, int] | None, pair: tuple[str, str] | None) -> Rubric:
    from markbook.judge.rubrics import Criterion, Rubric, read_rubric

    if named is not None:
        rubric = read_rubric(named)
        if rubric.row or any(criterion.grades for criterion in rubric.criteria):
            raise UsageError(
                f"the rubric {named} has grades, or criteria of each row's own: people mark on a scale that all rows share",
                hint="name a rubric without them, or --scale",
            )
        if rubric.is_pairwise != (pair is not None):
            raise UsageError(
                f"the rubric {named} compares two answers: name two models with --pair A B"
                if rubric.is_pairwise
                else f"the rubric {named} marks one answer: it does not go with --pair"
            )
        if scale is not None:
            raise UsageError("a rubric has a scale of its own: leave --scale out")
        return rubric
    low, high = scale or (1, 5)
    if not 0 <= low < high:
        raise UsageError(f"a scale must rise from 0 or more, not from {low} to {high}")
    criteria = (Criterion("mark", "How good is this answer?"),)
    if pair is not None:
        return Rubric(
            "preference", "Say which of the two answers is the better one.", (), ("answer",), is_pairwise=True
        )
    return Rubric("quality", "Mark how good this answer is.", criteria, ("answer",), scale=(low, high))
