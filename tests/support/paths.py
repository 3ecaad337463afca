"""Where things lie, for tests in any folder."""

from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
ROOT = TESTS.parent
SHARED = ROOT.parent / "shared"
"""The folder of real benchmarks, answers and reference values beside the checkout."""
