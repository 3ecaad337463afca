"""The subjects that are measured: `python -m bench` lists them, `python -m bench NAME ...` runs them."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path


def main() -> None:
    subjects = sorted(path.stem for path in Path(__file__).parent.glob("*.py") if not path.stem.startswith("_"))
    if len(sys.argv) < 2:
        for name in subjects:
            doc = importlib.import_module(f"bench.{name}").__doc__ or ""
            print(f"python -m bench.{name:14} {doc.strip().splitlines()[0] if doc.strip() else ''}")
        return
    for name in sys.argv[1:]:
        if name not in subjects:
            sys.exit(f"no subject {name!r}; there are {', '.join(subjects)}")
        print(f"== {name}")
        sys.argv = [name]
        importlib.import_module(f"bench.{name}").main()


if __name__ == "__main__":
    main()
