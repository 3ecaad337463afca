"""The page that shows load."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markbook.rewards.pool import Pool
    from markbook.server.figures import Figures

_STYLE = "body{font:16px/1.5 system-ui,sans-serif;max-width:44rem;margin:2rem auto;padding:0 1rem;color:#222;background:#fff}table{border-collapse:collapse;width:100%}td,th{padding:.3rem .6rem;text-align:left;border-bottom:1px solid #bbb}td{font-variant-numeric:tabular-nums}"


def page(pool: Pool, figures: Figures) -> str:
    """Return it, renewed by the browser every two seconds."""
    counts = pool.counts
    rows = [
        ("Isolation level", pool.level.value),
        ("Workers", len(pool.lanes)),
        ("Running", pool.running),
        ("Waiting", f"{pool.waiting} of {pool.settings.queue}"),
        ("Verdicts a second, last half minute", f"{pool.rate():.1f}"),
        ("Half of the items within", _seconds(figures.quantile(0.5))),
        ("99 of 100 items within", _seconds(figures.quantile(0.99))),
        *((f"Items: {name}", count) for name, count in sorted(counts.items())),
    ]
    cells = "".join(
        f"<tr><th scope=row>{html.escape(name)}</th><td>{html.escape(str(value))}</td></tr>" for name, value in rows
    )
    return (
        '<!doctype html><html lang=en><meta charset=utf-8><meta http-equiv=refresh content=2><meta name=viewport content="width=device-width">'
        f"<title>markbook serve</title><style>{_STYLE}</style><h1>Reward server</h1><table>{cells}</table></html>"
    )


def _seconds(value: float | None) -> str:
    return "no item yet" if value is None else f"{value:g} s"
