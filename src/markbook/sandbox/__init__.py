"""Running untrusted code: isolated, limited, and marked where it cannot reach the verdict."""

from __future__ import annotations

from markbook.sandbox.api import arun_tests, run_tests
from markbook.sandbox.controller import Layer, Sandbox
from markbook.sandbox.job import Job

__all__ = ["Job", "Layer", "Sandbox", "arun_tests", "run_tests"]
