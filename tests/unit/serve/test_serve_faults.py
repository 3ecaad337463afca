"""The reward server under injected faults, in the small: `python -m bench.serve_faults` does the same for hours."""

import json
import subprocess
import sys

import pytest
from support.paths import ROOT

pytest.importorskip("starlette", reason="pip install 'markbook[serve]'")
pytest.importorskip("uvicorn")


def test_every_reward_is_right_or_null_whatever_is_broken():
    options = ["--requests", "24", "--at-once", "12", "--queue", "6", "--kills", "2", "--restarts", "1", "--json"]
    command = [sys.executable, "-m", "bench.serve_faults", *options]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)

    found = json.loads(ran.stdout)
    assert (found["faults"], found["left"], ran.returncode) == ([], 0, 0), ran.stderr
    assert found["counts"]["servers killed"] == 1
    assert found["counts"]["rewards"] > 3
