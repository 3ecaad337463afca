"""Running untrusted code: isolated, limited, and marked where it cannot reach the verdict."""

from __future__ import annotations

from markbook.sandbox.controller import Sandbox, arun_tests, run_tests
from markbook.sandbox.job import Job
from markbook.sandbox.record_store import CacheFiles
from markbook.sandbox.worker import Layer, Stopped

__all__ = ["CacheFiles", "Job", "Layer", "Sandbox", "Stopped", "arun_tests", "run_tests"]
