"""`POST /run_code`, in SandboxFusion's shapes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.responses import Response

from markbook.server.guard import Refused

if TYPE_CHECKING:
    from starlette.requests import Request

    from markbook.rewards.pool import Pool
    from markbook.server.guard import Guard


class Programs:
    """Runs programs."""

    def __init__(self, pool: Pool, guard: Guard) -> None:
        self._pool = pool
        self._guard = guard

    async def run_code(self, request: Request) -> Response:
        """Answer it."""
        raise Refused(501, "todo")
