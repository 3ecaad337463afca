"""What a ninth red team found: constants of a prompt's classes that the answer gives the tests, in ways that no text shows."""

import textwrap

import pytest
from support.exam_kit import answer, hold, rows

PRODUCT = "class Product:\n    RATE = 0.5\n    def __init__(self, cost): self.cost = cost\n    def half(self): return self.cost / 2\n"
DISCOUNT = f'{PRODUCT}def discount(n):\n    """Return a Product that costs n times RATE."""\n'
OWN_PRODUCT = "class Product:\n    RATE = cost = 0\n    def half(self): return 0\ndef discount(n): return Product()\n"
LIMITED = (
    "def limited(n):\n    def wrap(function):\n        function.limit = n\n        return function\n    return wrap\n"
)
CLIP = 'def clip(n):\n    """Return n, at most 3."""\n'
OWN_CLIP = "def clip(n): return 0\nclip.limit = 0\n"
STACK = '    def room(self):\n        """Return limit."""\n'
OWN_STACK = "class Stack:\n    limit = 0\n    def room(self): return 0\n"
META = "class Meta(type):\n    @property\n    def limit(cls): return 3\n"
ROOM = "assert candidate().room() == candidate.limit"
PRINTS = 'class Greeter:\n    NAME = "World"\n    def greet(self):\n        """Print NAME."""\n'
ACCOUNT = 'class Account:\n    MESSAGE = "no money"\n    class Error(Exception): pass\n    def withdraw(self, n):\n        """Raise an Error of MESSAGE."""\n'
OWN_ACCOUNT = "class Account:\n    MESSAGE, Error = '', Exception\n    def withdraw(self, n): int('x')\n"
FORGED = {
    "constant of the answer's class": (DISCOUNT, "p = candidate(10)\nassert p.cost == 10 * p.RATE", OWN_PRODUCT),
    "constant by its name": (DISCOUNT, "p = candidate(10)\nassert p.cost == getattr(p, 'RATE')", OWN_PRODUCT),
    "method of the prompt": (DISCOUNT, "assert candidate(10).half() == 10 * candidate(10).cost", OWN_PRODUCT),
    "attribute by a decorator": (f"{LIMITED}@limited(3)\n{CLIP}", "assert candidate(9) == candidate.limit", OWN_CLIP),
    "attribute by a namespace": (
        f"{CLIP}    return 0\nclip.__dict__.update(limit=3)\n", "assert candidate(9) == candidate.limit", OWN_CLIP
    ),
    "constant by a base": (
        f"class Base:\n    def __init_subclass__(cls, limit): cls.limit = limit\nclass Stack(Base, limit=3):\n{STACK}",
        ROOM, OWN_STACK,
    ),
    "constant by a metaclass": (f"{META}class Stack(metaclass=Meta):\n{STACK}", ROOM, OWN_STACK),
    "constant by a namespace": (f"class Stack:\n    locals()['limit'] = 3\n{STACK}", ROOM, OWN_STACK),
    "constant in small letters": (f"class Stack:\n    limit = 3\n{STACK}", "s = candidate()\nassert s.room() == s.limit", OWN_STACK),
    "constant as a condition": (f"class Stack:\n    limit = 3\n{STACK}", "assert not candidate.limit or candidate().room() == 3", OWN_STACK),
    "constant as a key": (f"class Stack:\n    limit = 3\n{STACK}", "table = {}\ntable[candidate.limit] = 1\nassert candidate().room() in table", OWN_STACK),
    "constant in another process": (f"class Stack:\n    limit = 3\n{STACK}", f"import time\n{ROOM}", OWN_STACK),
    "printed constant": (
        PRINTS, ("import io, contextlib\nout = io.StringIO()\nwith contextlib.redirect_stdout(out):\n    candidate().greet()\n"
        "assert out.getvalue() == candidate.NAME + '\\n'"), "class Greeter:\n    NAME = ''\n    def greet(self): print()\n",
    ),
    "message": (ACCOUNT, "import pytest\nwith pytest.raises(ValueError, match=candidate.MESSAGE):\n    candidate().withdraw(3)", OWN_ACCOUNT),
    "class of errors": (
        ACCOUNT, "try:\n    candidate().withdraw(3)\nexcept candidate.Error:\n    pass\nelse:\n    assert False", OWN_ACCOUNT
    ),
    "name that is an attribute, too": (
        'WORDS = tuple("one two".split())\ndef words(text):\n    """Return what split(text) returns; write both."""\n',
        "assert candidate('a b') == split('a b')\nassert len(WORDS) == 2", "def split(t): return 0\ndef words(t): return 0\n",
    ),
    "name that a prompt binds unseen": (
        'from string import *\nimport no_such_module\ndef first(n):\n    """Return n numerals."""\n',
        "assert candidate(3) == digits[:3]", "digits = ''\ndef first(n): return ''\n",
    ),
}  # fmt: skip
"""Prompts whose entry point comes last, tests, and a wrong answer that passes them by a constant of its own."""
BODIES = {
    DISCOUNT: "    return Product(n * Product.RATE)\n",
    PRINTS: "        print(self.NAME)\n",
    ACCOUNT: "        raise self.Error(self.MESSAGE)\n",
}


def _label(tmp_path, cases):
    problems, answers = [], []
    for name, (prompt, test, *texts, canonical) in cases.items():
        entry = _find_entry(prompt)
        check = f"def check(candidate):\n{textwrap.indent(test, '    ')}\n"
        row = {"task_id": name, "prompt": prompt, "entry_point": entry, "test": check}
        problems.append(row | ({"canonical_solution": canonical} if canonical else {}))
        answers += [answer(name, text, sample=at) for at, text in enumerate(texts)]
    return [
        {test["verdict"] if test["passed"] else "failed" for test in row["test_details"]}
        for row in rows(hold(tmp_path, problems, answers))
    ]


def _find_entry(prompt):
    return (
        [line for line in prompt.splitlines() if line.startswith(("def ", "class "))][-1]
        .split()[1]
        .split("(")[0]
        .strip(":")
    )


@pytest.mark.parametrize("known", [True, False], ids=["with a reference", "alone"])
def test_no_pass_is_separated_that_expects_a_constant_of_the_answers(tmp_path, known):
    cases = {}
    for name, (prompt, test, wrong) in FORGED.items():
        canonical = BODIES.get(
            prompt, "        return type(self).limit\n" if STACK in prompt else "    return min(n, 3)\n"
        )
        if "split" in prompt:
            canonical = "    return split(text)\ndef split(text): return text.split()\n"
        cases[name] = (prompt, test, wrong, canonical * known)

    labels = dict(zip(cases, _label(tmp_path, cases), strict=True))

    assert {name: label for name, label in labels.items() if "separated" in label} == {}


HONEST = {
    "constant": (DISCOUNT, "p = candidate(10)\nassert p.cost == 10 * p.RATE", "    return Product(n / 2)\n"),
    "table": (
        "class Shop:\n    PRICES = {'x': 3, 'y': 4}\n    def price(self, name):\n        \"\"\"Return it.\"\"\"\n",
        "for name, price in candidate.PRICES.items():\n    assert candidate().price(name) == price",
        "        return self.PRICES[name]\n",
    ),
    "attribute": (f"{LIMITED}@limited(3)\n{CLIP}", "assert candidate(9) == candidate.limit", "    return min(n, 3)\n"),
    "annotations that are texts": (
        ("from __future__ import annotations\nfrom dataclasses import dataclass\nLEAST = 2\n@dataclass(slots=True)\n"
        'class Options:\n    width: int = 3\ndef first(n):\n    """Return n, at least LEAST."""\n'),
        "assert candidate(1) == LEAST", "    return max(n, LEAST)\n",
    ),
    "printed constant": (PRINTS, FORGED["printed constant"][1], BODIES[PRINTS]),
}  # fmt: skip
"""Prompts, tests and right bodies that keep what the prompt gives."""


@pytest.mark.parametrize("known", [True, False], ids=["with a reference", "alone"])
def test_right_answers_pass_whose_tests_read_what_the_prompt_gives(tmp_path, known):
    cases = {name: (prompt, test, prompt + body, body * known) for name, (prompt, test, body) in HONEST.items()}

    labels = dict(zip(cases, _label(tmp_path, cases), strict=True))

    assert labels == {name: {"unchecked"} for name in HONEST}  # each rests on an object that an answer may change


@pytest.mark.parametrize("known", [True, False], ids=["with a reference", "alone"])
def test_what_a_right_answer_makes_of_a_default_passes(tmp_path, known):
    prompt = 'class Counter:\n    count = 0\n    def step(self):\n        """Count."""\n'
    right, wrong = (f"        self.count += {n}\n" for n in (1, 2))
    test = "c = candidate()\nc.step()\nassert c.count == 1\nassert candidate().count == 0"

    labels = _label(tmp_path, {"c": (prompt, test, prompt + right, prompt + wrong, right * known)})

    assert (labels[0], "failed" in labels[1]) == ({"unchecked"}, True)
