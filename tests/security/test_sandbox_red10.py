"""What a tenth red team found: proofs by runs apart that show something else than a run beside the solution would."""

import pytest
from support.exam_kit import answer, hold, rows

SEEN = 'SEEN = []\ndef double(n):\n    """Append n to SEEN and return its double."""\n'
APPENDS = "    SEEN.append(n)\n    return 2 * n\n"
GOES_THROUGH = ["for n in list(SEEN):", "    assert candidate(n) == 2 * n"]
STATS = 'STATS = {"sum": 0}\ndef add(n):\n    """Add n to the sum in STATS and return it."""\n'
ADDS = "    STATS['sum'] += n\n    return STATS['sum']\n"
QUEUE = 'class Queue:\n    def __init__(self):\n        self.items = []\n    def push(self, x):\n        """Append x to items."""\n'
PUSHES = "        self.items.append(x)\n        return self\n"
VERSION = 'VERSION = 1\ndef bump():\n    """Increase VERSION by one and return it."""\n'
COUNT = 'COUNT = 0\ndef double(n):\n    """Count the call in COUNT and return the double of n."""\n'
COUNTS = "    global COUNT\n    COUNT += 1\n    return 2 * n\n"
PICK = 'import random\nPICK = random.choice(range(1000))\ndef pick():\n    """Return PICK."""\n'
SEES = ["assert candidate(0) == 0", "candidate(3)", *GOES_THROUGH]
BUMPS = ["assert candidate() == 2", "assert VERSION == 2"]
REBINDS = {
    "exec": "    exec(f'glo' f'bal SEEN; SEEN = SEEN + [{n}]')\n",
    "module": "    import sys\n    sys.modules[__name__].SEEN = SEEN + [n]\n",
    "setattr": "    import sys\n    setattr(sys.modules[__name__], 'SEEN', SEEN + [n])\n",
    "update": "    globals().update(SEEN=SEEN + [n])\n",
    "function": "    double.__globals__['SEEN'] = SEEN + [n]\n",
}

RIGHT = {
    "a loop over what is kept": (SEEN, ["assert candidate(1) == 2", *GOES_THROUGH], APPENDS, APPENDS),
    "a branch by what is kept": (SEEN, ["assert candidate(1) == 2", "if SEEN: assert candidate(2) == 4", "else: assert candidate(3) == 6"], APPENDS, APPENDS),
    "what is held": (QUEUE, ["q = candidate()", "items = q.items", "q.push(5)", "for x in items: assert x == 5"], PUSHES, PUSHES),
    "a loop as long as a count": (COUNT, ["assert candidate(1) == 2", "for i in range(COUNT): assert candidate(i) == 2 * i"], COUNTS, COUNTS),
    "a loop that ends by a count": (COUNT, ["while COUNT < 3: assert candidate(1) == 2"], COUNTS, COUNTS),
    "a namespace": (VERSION, BUMPS, "", "    space = globals()\n    space['VERSION'] += 1\n    return VERSION\n"),
    "an update": (VERSION, BUMPS, "", "    globals().update(VERSION=VERSION + 1)\n    return VERSION\n"),
    "globals of a function": (VERSION, BUMPS, "", "    bump.__globals__['VERSION'] += 1\n    return VERSION\n"),
    "a text that is executed": (VERSION, BUMPS, "", "    exec('VERSION += 1', globals())\n    return VERSION\n"),
    "a reference that executes a text": (VERSION, BUMPS, "    exec('VERSION += 1', globals())\n    return VERSION\n", "    exec('VERSION += 1', globals())\n    return VERSION\n"),
    "a helper that reads it": (f"{VERSION.replace('def', 'def get(): return VERSION' + chr(10) + 'def', 1)}", ["assert candidate() == 2", "assert get() == 2"], "", "    globals().update(VERSION=2)\n    return 2\n"),
    "what was drawn after something else": (PICK, ["assert candidate() == PICK"], "    return PICK\n", PICK.replace("PICK =", "FIRST = random.random()\nPICK =") + "    return PICK\n"),
    **{f"rebound by {name}": (SEEN, SEES, APPENDS, f"{code}    return 2 * n\n") for name, code in REBINDS.items()},
}  # fmt: skip
"""Prompts, their tests, a reference and a right answer."""
WRONG = {
    **{f"rebound by {name}": (SEEN, SEES, APPENDS, f"{code}    return 0\n") for name, code in REBINDS.items()},
    "nothing is kept": (SEEN, SEES, APPENDS, "    return 0\n"),
    "the sum stays": (STATS, ["assert candidate(3) == STATS['sum']"], ADDS, "    return 0\n"),
    "the sum is rebound": (STATS, ["assert candidate(3) == STATS['sum']"], ADDS, "    exec(f'glo' f'bal STATS; STATS = dict(sum={n})')\n    return 0\n"),
    "the most of nothing": (SEEN, ["candidate(3)", "assert candidate(4) == 2 * max(SEEN, default=0)"], APPENDS, "    return 0\n"),
}  # fmt: skip


def examine(tmp_path, cases, *, known):
    problems, answers = [], []
    for name, (prompt, lines, reference, code) in cases.items():
        entry = prompt.rpartition("def ")[2].partition("(")[0] if prompt != QUEUE else "Queue"
        test = "def check(candidate):\n" + "".join(f"    {line}\n" for line in lines)
        row = {"task_id": name, "prompt": prompt, "entry_point": entry, "test": test}
        problems.append({**row, **({"canonical_solution": reference} if known and reference else {})})
        answers.append(answer(name, code if code.startswith("import random") else f"{prompt}{code}"))
    # a loop whose end only the answer's own process sees is run until its time is up, once for each way to examine it
    found = rows(hold(tmp_path, problems, answers, timeout=0.5))
    return {
        name: row["all_tests_passed"] and row["test_details"][0]["verdict"]
        for name, row in zip(cases, found, strict=True)
    }


@pytest.mark.parametrize("known", [True, False], ids=["with a reference", "alone"])
def test_a_right_answer_passes_though_what_the_tests_read_changes_meanwhile(tmp_path, known):
    found = examine(tmp_path, RIGHT, known=known)

    assert {name for name, label in found.items() if not label} == set()


@pytest.mark.parametrize("known", [True, False], ids=["with a reference", "alone"])
def test_no_wrong_answer_is_proved_by_what_the_prompt_begins_with(tmp_path, known):
    found = examine(tmp_path, WRONG, known=known)

    assert {name: label for name, label in found.items() if label == "separated"} == {}
