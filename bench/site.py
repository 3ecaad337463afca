"""How long `markbook site` takes: python -m bench.site [MODELS [ITEMS]]; 300 models on 1,000 items unless said otherwise."""

from __future__ import annotations

import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def main() -> None:
    models, items = (int(one) for one in (*sys.argv[1:], *("300", "1000")[len(sys.argv) - 1 :]))
    rng = random.Random(0)
    hard = [rng.random() for _ in range(items)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "marks.csv"
        rows = (
            f"i{item},m{model},{int(rng.random() < hard[item] * (0.5 + model / models))}"
            for model in range(models)
            for item in range(items)
        )
        path.write_text("item,model,score\n" + "\n".join(rows) + "\n")
        start = time.perf_counter()
        command = [sys.executable, "-m", "markbook", "site", str(path), "-o", str(Path(folder) / "public"), "--json"]
        subprocess.run(command, check=True)
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        print(f"{time.perf_counter() - start:.1f} s wall, {used.ru_utime:.1f} s CPU, {used.ru_maxrss >> 10} MiB")


if __name__ == "__main__":
    main()
