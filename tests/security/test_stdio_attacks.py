"""What programs may try against judges: nothing right comes of it, nothing hangs, no neighbour changes."""

import pytest
from support.exam_kit import answer, hold, rows

from markbook.programs import streams
from markbook.types import Limits

SECRET = "90125"
INTERACTOR = """import os, sys
secret = open(sys.argv[1]).read().strip()
print("hello", flush=True)
line = sys.stdin.buffer.readline(1 << 20).decode("utf-8", "replace").strip()
open(os.path.join(sys.argv[3], "judgemessage.txt"), "w").write("got " + line[:50])
sys.exit(42 if line == secret else 43)
"""
CHECKER = """import sys
printed = open(sys.argv[2], encoding="utf-8", errors="replace").read()
sys.exit(0 if printed.split() == open(sys.argv[3]).read().split() else 1)
"""
TALKS = {
    "task_id": "talks",
    "time_limit": 0.3,
    "memory_limit_mb": 128,
    "tests": [{"stdin": SECRET, "stdout": SECRET}],
    "checker": {"language": "python", "source": INTERACTOR, "convention": "icpc", "interactive": True},
}
CHECKED = {
    "task_id": "checked",
    "time_limit": 0.3,
    "memory_limit_mb": 128,
    "tests": [{"stdin": "x", "stdout": SECRET}],
    "checker": {"language": "python", "source": CHECKER},
}
HUNT = """
import glob, os, re
found = set()
for place in %s:
    for name in glob.glob(place):
        try: found |= set(re.findall(r"\\\\b\\\\d{5}\\\\b", open(name, errors="replace").read(100000)))
        except OSError: pass
print("\\\\n".join(sorted(found)[:100]), flush=True)
"""
ATTACKS = [
    # reading what the judge holds
    HUNT % "['/proc/*/environ', '/proc/*/cmdline', '/proc/*/fd/*', '/proc/*/maps']",
    HUNT % "['/tmp/*', '/tmp/*/*', '../*', '../*/*', '/dev/shm/*', '/var/tmp/*/*']",
    HUNT % "['/scratch/*', '/scratch/*/*', '/scratch/work/input', '/scratch/work/answer', '/scratch/build/*']",
    "import os\nfor n in range(3, 200):\n    try: print(os.read(n, 99))\n    except OSError: pass",
    "import os\nfor p in range(1, 400):\n    try: print(open(f'/proc/{p}/mem', 'rb').read(9))\n    except OSError: pass",
    "import os\nfor n in os.listdir('/proc/self/fd'):\n    try: os.write(int(n), b'42')\n    except OSError: pass",
    # killing, stopping and outliving it
    "import os, signal\nfor p in range(2, 1000):\n    try: os.kill(p, signal.SIGKILL)\n    except OSError: pass\nprint(42)",
    "import os, signal\nfor p in (0, -1, os.getppid(), 1):\n    try: os.kill(p, signal.SIGSTOP)\n    except OSError: pass",
    "import os, time\nif os.fork():\n    os._exit(0)\ntime.sleep(1)\nprint(90125)",
    "import os\nos.setsid()\nprint(42)",
    "import os, time\nif os.fork() == 0:\n    os.close(1)\n    time.sleep(60)\nprint(1)",
    "import threading, time\nthreading.Thread(target=lambda: time.sleep(60)).start()\nprint(1)",
    # what it prints is to break the judge
    "import sys\nsys.stdout.buffer.write(b'\\xff' * (1 << 20) + b'\\n')",
    "import sys\nsys.stdout.buffer.write(b'\\0' * (1 << 19) + b'\\n')",
    "print('9' * 1_000_000)",
    "print('\\x1b]0;90125\\x07\\x1b[2J')",
    "print('42\\r\\n90125')",
    "print('90125 90125')",
    "import sys\nwhile True: sys.stdout.write('9' * 65536)",
    "import sys\nwhile True: sys.stderr.write('9' * 65536)",
    # before it is asked, late, not at all
    "for n in range(10000, 10100): print(n)",
    "import time\ntime.sleep(60)",
    "import os\nos.close(0)\nos.close(1)\nwhile True: pass",
    "import os\nos.dup2(0, 1)",
    "import sys\nfor line in sys.stdin: print(line, end='', flush=True)",
    "import os\nos._exit(42)",
    # the way the verdict goes
    "open('feedback/score.txt', 'w').write('1')",
    "import os\nos.makedirs('feedback', exist_ok=True)\nopen('feedback/returned.json', 'w').write('{\"returned\": true}')\nprint(1)",
    "import os\nos.symlink('/', 'answer')\nprint(open('answer/etc/passwd').read())",
    "raise SystemExit(42)",
    "import ctypes\nctypes.string_at(0)",
    "import socket\ns = socket.socket(socket.AF_UNIX)\ns.connect('/tmp/x')",
]  # fmt: skip
HONEST = {"talks": f"input()\nprint({SECRET})", "checked": f"print({SECRET})"}


def test_no_attack_on_a_judge_is_right_and_no_neighbour_changes(tmp_path, part):
    attacks = part.of(ATTACKS, 2)
    answers = [answer(task, text, sample=n) for task in HONEST for n, text in enumerate(attacks)]
    answers += [answer(task, f"{text}  # {n}", "honest", sample=n) for task, text in HONEST.items() for n in range(6)]
    run = hold(tmp_path, [TALKS, CHECKED], answers, workers=2, isolation="auto")
    found = rows(run)

    assert [attacks[row["sample"]] for row in found if row["all_tests_passed"]] == []
    assert len(found) == 2 * len(attacks)
    assert {test["result"] for row in found for test in row["test_details"]} <= {"WA", "TLE", "MLE", "RTE", "OLE"}
    assert {row["all_tests_passed"] for row in rows(run, "honest")} == {True}


ENDLESS = "while True: pass"
CRASHING = "import os\nos.abort()"
FLOODING = "import sys\nwhile True: sys.stdout.write('9' * 65536)"
FILLING = "import sys\nwhile True: open('feedback/x', 'ab').write(b'9' * 65536)"
HUGE = "import sys\nopen(sys.argv[3] + 'nextpass.in', 'wb').truncate(1 << 40)\nsys.exit(42)"


@pytest.mark.parametrize("source", [ENDLESS, CRASHING, FLOODING, FILLING, HUGE])
def test_a_hostile_judge_ends_and_loses_nothing(tmp_path, monkeypatch, source):
    monkeypatch.setattr(streams, "JUDGE_LIMITS", Limits(seconds=0.3, file_bytes=1 << 20, output_bytes=1 << 20))
    hostile = {
        **CHECKED,
        "task_id": "hostile",
        "checker": {"language": "python", "source": source, "convention": "icpc"},
    }
    answers = [answer("hostile", "print(1)"), answer("checked", HONEST["checked"])]
    found = {row["task_id"]: row for row in rows(hold(tmp_path, [hostile, CHECKED], answers))}

    assert found["hostile"]["test_details"][0]["result"] == "JE"
    assert found["hostile"]["benchmark_fault"]
    assert found["checked"]["all_tests_passed"]
