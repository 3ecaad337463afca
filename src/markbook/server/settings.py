"""How a server is set up."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from markbook.rewards.items import Defaults
from markbook.rewards.pool import PoolSettings
from markbook.server.guard import Guard


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    """How a server is set up."""

    pool: PoolSettings = field(default_factory=PoolSettings)
    guard: Guard = field(default_factory=Guard)
    defaults: Defaults = field(default_factory=Defaults)
    benchmarks: Path | None = None
    """The folder whose benchmarks items may name; nothing else of this machine can be named."""
    most_items: int = 1024
    """Items of one request."""
    deadline: float = 600.0
    """Seconds that a request is worked for at most."""
