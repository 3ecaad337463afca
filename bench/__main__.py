"""The subjects that are measured: `python -m bench` lists them, `python -m bench NAME ...` runs them, `all` most of them."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path

BY_THEMSELVES = (
    "agreement",
    "canonical",
    "coverage",
    "exam_command",
    "fuzz",
    "language_speed",
    "languages",
    "peers",
    "reliability",
    "sandbox",
    "sandbox_fuzz",
    "stdio_programs",
    "stdio_speed",
    "side_by_side",
    "serve_faults",
    "task_language",
)
"""Take long, or an argument: `all` leaves them out."""


def main() -> None:
    subjects = sorted(path.stem for path in Path(__file__).parent.glob("*.py") if not path.stem.startswith("_"))
    if len(sys.argv) < 2:
        for name in subjects:
            doc = importlib.import_module(f"bench.{name}").__doc__ or ""
            print(f"python -m bench.{name:14} {doc.strip().splitlines()[0] if doc.strip() else ''}")
        return
    if sys.argv[1:] == ["all"]:
        sys.exit(_run_all([name for name in subjects if name not in BY_THEMSELVES]))
    for name in sys.argv[1:]:
        if name not in subjects:
            sys.exit(f"no subject {name!r}; there are {', '.join(subjects)}")
        print(f"== {name}")
        sys.argv = [name]
        importlib.import_module(f"bench.{name}").main()


def _run_all(subjects: list[str]) -> int:
    """Run each subject in a process of its own; one whose peer is not installed does not keep the others from theirs."""
    failed = []
    for name in subjects:
        print(f"== {name}", flush=True)
        if subprocess.run([sys.executable, "-m", f"bench.{name}"], check=False).returncode != 0:
            failed.append(name)
    print(f"not measured: {', '.join(failed)}" if failed else "all measured")
    return 1 if failed else 0


if __name__ == "__main__":
    main()
