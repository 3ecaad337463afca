"""CodeBLEU and the quality scores: `python -m bench.code_metrics [PYTHON]`.

The peer codebleu 0.7 needs tree-sitter 0.22 and so an environment of its own; PYTHON is that environment's interpreter
(`pip install codebleu==0.7.0 tree-sitter==0.22.3 tree-sitter-python==0.21.0`). Both sides score the same pairs, in
turns, in CPU seconds; a turn's best pass counts, and the median of the turns. Nothing is remembered from pass to pass. Work: HumanEval functions against an edited copy of themselves.
"""

from __future__ import annotations

import gzip
import json
import random
import statistics
import subprocess
import sys
import time
from pathlib import Path

from markbook import plugins
from markbook.metrics.code import codebleu
from markbook.metrics.quality import points
from markbook.types import Attempt, Item, Sample

HUMANEVAL = Path(__file__).resolve().parents[2] / "shared" / "data" / "humaneval" / "HumanEval.jsonl.gz"
TURNS = 5
QUALITY = ("context_adherence", "style_compliance", "security_compliance", "performance_awareness")
PEER = """
import json, logging, sys, time
logging.disable(logging.CRITICAL)
from codebleu import calc_codebleu
pairs = json.load(sys.stdin)
seconds = []
for _ in range(2):
    start = time.process_time()
    for candidate, reference in pairs:
        calc_codebleu([reference], [candidate], "python")
    seconds.append(time.process_time() - start)
print(min(seconds))
"""


def functions() -> list[tuple[str, str]]:
    """Return (edited copy, function) pairs."""
    if HUMANEVAL.is_file():
        with gzip.open(HUMANEVAL, "rt", encoding="utf-8") as lines:
            rows = [json.loads(line) for line in lines]
        sources = [row["prompt"] + row["canonical_solution"] for row in rows]
    else:
        sources = [
            f"def f{n}(a, b):\n    c = a + {n}\n    for d in range(b):\n        c += d\n    return c\n"
            for n in range(164)
        ]
    rng = random.Random(1)
    pairs = []
    for source in sources:
        lines = source.split("\n")
        lines.insert(rng.randrange(len(lines)), "")
        pairs.append(("\n".join(lines).replace("result", "answer").replace("range(len", "range(1, len"), source))
    return pairs


def main() -> None:
    """Print the table."""
    pairs = functions()
    peer = sys.argv[1] if len(sys.argv) > 1 else ""
    ours, theirs, quality = [], [], []
    items = [Item(Sample(str(n), references=(ref,)), Attempt(str(n), cand)) for n, (cand, ref) in enumerate(pairs)]
    metric = plugins.create("metrics", "codebleu")
    for _ in range(TURNS):
        seconds = []
        for _ in range(10):  # as long as the peer's two passes
            codebleu.forget()
            start = time.process_time()
            metric.measure(items)
            seconds.append(time.process_time() - start)
        ours.append(min(seconds))
        if peer:
            done = subprocess.run(
                [peer, "-c", PEER], input=json.dumps(pairs), capture_output=True, text=True, check=True
            )
            theirs.append(float(done.stdout))
        points._read_cached.cache_clear()  # noqa: SLF001 - each turn starts cold
        scores = [plugins.create("metrics", name) for name in QUALITY]
        start = time.process_time()
        for item in items:
            for score in scores:
                score.measure([item])
        quality.append(time.process_time() - start)
    mine = statistics.median(ours)
    print(f"codebleu                  {len(pairs) / mine:8.0f} pairs/s")
    if theirs:
        other = statistics.median(theirs)
        print(f"codebleu 0.7.0            {len(pairs) / other:8.0f} pairs/s   ours is {other / mine:.1f} x")
    else:
        print("codebleu 0.7.0            not measured: name its interpreter as the argument")
    print(f"four quality scores       {len(pairs) / statistics.median(quality):8.0f} samples/s")


if __name__ == "__main__":
    main()
