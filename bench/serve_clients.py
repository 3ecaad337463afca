"""Other projects' own clients and servers beside `/run_code`: verl's reward client against it, SandboxFusion's server next to it.

python -m bench.serve_clients verl CHECKOUT [--times 4]
python -m bench.serve_clients fusion URL [--times 200] [--rounds 3] [--at-once 4]

verl    `verl/utils/reward_score/sandbox_fusion/utils.py` of a checkout of volcengine/verl, as it is: its `check_correctness` on
        programs of every outcome, in Python, C++, JavaScript and Bash; how many of its results are as they should be
fusion  the same small programs through a running SandboxFusion (`uvicorn sandbox.server.server:app`) and through ours, in
        turns: programs a second of each and their ratio, and how many of the answers' status words differ. SandboxFusion
        isolates nothing unless it is set up to: the programs are our own

Needs `requests` for verl's client. Nothing of either project is part of this one.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import statistics
import sys
import time
import urllib.error
import urllib.request
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from bench._serving import server

CPP = "#include <iostream>\nint main() {{ long a, b; std::cin >> a >> b; std::cout << {} << std::endl; {} }}\n// {}\n"
READ = "const [a, b] = require('fs').readFileSync(0, 'utf8').trim().split(' ').map(Number)"
CASES = (
    # language, program, what verl's client is to say of it, how many of it
    ("python", "a, b = map(int, input().split())\nprint(a + b)\n# {}\n", True, 10),
    ("python", "a, b = map(int, input().split())\nprint(a - b)\n# {}\n", False, 6),
    ("python", "print()\n# {}\n", False, 2),
    ("python", "raise SystemExit(3)\n# {}\n", -2, 3),
    ("python", "1 / 0\n# {}\n", -2, 3),
    ("python", "def f(:\n# {}\n", -2, 3),
    ("python", "import os\nos.abort()\n# {}\n", -2, 2),
    ("python", "x = [0] * (1 << 40)\n# {}\n", -2, 2),
    ("python", "while True: pass\n# {}\n", -3, 2),
    ("python", "import time\ntime.sleep(600)\n# {}\n", -3, 2),
    ("bash", "read a b; echo $((a + b))\n# {}\n", True, 4),
    ("bash", "exit 7\n# {}\n", -2, 2),
    ("cpp", CPP.format("a + b", "", "{}"), True, 2),
    ("cpp", CPP.format("a - b", "", "{}"), False, 2),
    ("cpp", CPP.format("a + b", "return 1;", "{}"), -2, 2),
    ("cpp", CPP.format("a +", "", "{}"), -4, 3),
    ("nodejs", READ + "; console.log(a + b) // {}\n", True, 3),
    ("nodejs", "throw new Error('{}')\n", -2, 2),
    (
        "verilog",
        "module m{}; endmodule\n",
        -1,
        1,
    ),  # which nobody has here: said in a 4xx, which this client calls an API error
)


def verl(options: argparse.Namespace) -> None:
    """Run verl's client on programs of every outcome."""
    path = Path(options.target) / "verl/utils/reward_score/sandbox_fusion/utils.py"
    spec = importlib.util.spec_from_file_location("verl_sandbox_fusion", path)
    if spec is None or spec.loader is None or not path.exists():
        sys.exit(f"{path} is not there: name a checkout of volcengine/verl")
    client = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(client)
    jobs = [
        (language, code.replace("{}", f"{turn} {number}") if "{}" in code else code, wanted)
        for turn in range(options.times)
        for language, code, wanted, count in CASES
        for number in range(count)
    ]

    def one(job: tuple[str, str, object]) -> tuple[object, object, str]:
        language, code, wanted = job
        seconds = 1 if wanted == -3 else 30  # the client waits ten more: on a busy machine a CPU second may take them
        given = {"inputs": ["2 3\n"], "outputs": ["5\n"]}
        found, said = client.check_correctness(url, given, code, timeout=seconds, language=language)
        return found[0], wanted, f"{language}: {code[:60]!r} is {found[0]}, not {wanted}: {said[0].get('api_response')}"

    with server() as (_, port), ThreadPoolExecutor(options.at_once) as threads:
        url = f"http://127.0.0.1:{port}/run_code"
        results = list(threads.map(one, jobs))
    wrong = [words for found, wanted, words in results if found is not wanted and found != wanted]
    print(
        f"{len(results)} programs, by result: {dict(Counter(str(found) for found, *_ in results))}; {len(wrong)} wrong"
    )
    for words in wrong[:5]:
        print(words)
    sys.exit(bool(wrong))


PROGRAMS = (
    ("print(sum(map(int, input().split())))\n# {}\n", "2 3\n"),
    ("import json, sys\nprint(json.dumps(sorted(json.load(sys.stdin))))\n# {}\n", "[3, 1, 2]"),
    ("raise ValueError('{}')\n", ""),
    ("def f(:\n# {}\n", ""),
)


def asked(url: str, code: str, stdin: str) -> dict[str, Any]:
    """Ask a server to run a program in Python."""
    body = json.dumps({"code": code, "language": "python", "stdin": stdin, "compile_timeout": 10, "run_timeout": 10})
    request = urllib.request.Request(url, body.encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as got:
        found: dict[str, Any] = json.load(got)
        return found


def fusion(options: argparse.Namespace) -> None:
    """Run the same programs through SandboxFusion and through ours, in turns."""
    rates: dict[str, list[float]] = {"SandboxFusion": [], "markbook serve": []}
    with server("--workers", str(len(os.sched_getaffinity(0)))) as (_, port):
        urls = {
            "SandboxFusion": options.target.rstrip("/") + "/run_code",
            "markbook serve": f"http://127.0.0.1:{port}/run_code",
        }
        said: dict[str, list[tuple[object, ...]]] = {name: [] for name in urls}
        for turn in range(options.rounds + 1):
            jobs = [
                (code.replace("{}", f"{turn} {number}"), stdin)
                for number in range(options.times // len(PROGRAMS))
                for code, stdin in PROGRAMS
            ]
            for name, url in urls.items():
                began = time.perf_counter()
                with ThreadPoolExecutor(options.at_once) as threads:
                    found = list(threads.map(lambda job, url=url: asked(url, *job), jobs))
                if turn:  # the first one warms both up
                    rates[name].append(len(jobs) / (time.perf_counter() - began))
                said[name] += [
                    (one["status"], one["run_result"]["stdout"], one["run_result"]["return_code"]) for one in found
                ]
    different = sum(a != b for a, b in zip(*said.values(), strict=True))
    for name, found_rates in rates.items():
        print(f"{name:15} {statistics.median(found_rates):6.1f} programs/s")
    ratios = [ours / theirs for theirs, ours in zip(*rates.values(), strict=True)]
    print(f"ours is {statistics.median(ratios):.2f} times theirs (rounds: {', '.join(f'{one:.2f}' for one in ratios)})")
    print(f"{len(said['SandboxFusion'])} answers, {different} differ in status, output or return code")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    modes = {"verl": verl, "fusion": fusion}
    parser.add_argument("mode", nargs="?", choices=modes)
    parser.add_argument("target", nargs="?")
    parser.add_argument("--times", type=int)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--at-once", type=int, default=4)
    options = parser.parse_args()
    if options.mode is None or options.target is None:
        return print(__doc__)
    options.times = options.times or (4 if options.mode == "verl" else 200)
    return modes[options.mode](options)


if __name__ == "__main__":
    main()
