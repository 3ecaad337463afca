"""The page that shows load."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markbook.rewards.pool import Pool
    from markbook.server.figures import Figures

_STYLE = (
    ":root{color-scheme:light dark;--bg:#fff;--fg:#1c2024;--line:#d5dae0;--dim:#59616b}"
    "@media (prefers-color-scheme:dark){:root{--bg:#15181c;--fg:#e6e9ed;--line:#383f48;--dim:#a5adb8}}"
    "body{font:16px/1.5 system-ui,sans-serif;max-width:44rem;margin:2rem auto;padding:0 1rem;color:var(--fg);background:var(--bg)}"
    "p{margin:0;font-size:.8rem;font-weight:600;letter-spacing:.08em;text-transform:uppercase;color:var(--dim)}h1{margin:.1rem 0 1rem;font-size:1.6rem}"
    "table{border-collapse:collapse;width:100%}td,th{padding:.3rem .6rem;text-align:left;font-weight:400;border-bottom:1px solid var(--line)}"
    "td{font-weight:600;font-variant-numeric:tabular-nums}"
)


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
        f"<title>markbook serve</title><style>{_STYLE}</style><main><p>Markbook</p><h1>Reward server</h1><table>{cells}</table></main></html>"
    )


def _seconds(value: float | None) -> str:
    return "no item yet" if value is None else f"{value:g} s"
