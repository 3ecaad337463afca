"""What follows the moves of `modules.py`: emptied packages, docstrings of new ones, layers, lint rules, the page on architecture."""

import pathlib
import re

SRC = pathlib.Path("src/markbook")
for name, text in [
    (
        "programs",
        "Programs in any language: built, run test by test, compared or judged, remembered, and why they failed.",
    ),
    ("benchmarks", "Problems with tests, and answers to them. All of it is hostile until parsed."),
    (
        "datasets",
        "What tasks and reviews read: rows, templates, filters, predictions, papers. All of it is hostile until parsed.",
    ),
    ("testcode", "What a test program is: how it is completed, whether it can fail, whether it is broken."),
    ("serve", "Rewards for training: verdicts from the sandboxes that an exam uses, in a process or over HTTP."),
]:
    (SRC / name / "__init__.py").write_text(f'"""{text}"""\n')


# commands that share a module
p = SRC / "cli/__init__.py"
s = p.read_text()
for a, b in [
    (
        """command = importlib.import_module(f"markbook.cli.{_MODULES.get(cmd_name, cmd_name)}").command
""",
        """module, name = _HOMES.get(cmd_name, (cmd_name, "command"))
        command = getattr(importlib.import_module(f"markbook.cli.{module}"), name)
""",
    ),
    (
        """_MODULES = {"import": "import_"}
\"\"\"Where a command's name is a word of Python.\"\"\"
""",
        """_HOMES = {
    "demo": ("init", "demo_command"),
    "import": ("get", "import_command"),
    "noise": ("compare", "noise_command"),
    "site": ("report", "site_command"),
    "view": ("show", "view_command"),
}
\"\"\"The module and the name of a command that stands in another's module.\"\"\"
""",
    ),
    ("the command `name` is `markbook.cli.<name>.command`.", "the command `name` is `markbook.cli.<name>.command`, if `_HOMES` does not say otherwise."),
    ("one module a command, imported only when it runs.", "a command's module is imported only when it runs."),
]:
    assert a in s, a
    s = s.replace(a, b)
p.write_text(s)

# what is found by its path
p = SRC / "metrics/checks.py"
s = p.read_text()
assert 'with_name("child.py")' in s
p.write_text(s.replace('with_name("child.py")', 'with_name("check_child.py")'))

# layers
p = "pyproject.toml"
s = open(p).read()
i = s.index("layers = [\n")
j = s.index(']\n\n[[tool.importlinter.contracts]]\nname = "Kinds of run')
s = (
    s[:i]
    + """layers = [
  "(__main__)",
  "(cli)",
  "(documented) | (testing) | (rewards)",
  "(serve)",
  "(runs)",
  "(report)",
  "(results)",
  "(store) | (judge)",
  "(benchmarks) | (datasets)",
  "(programs) | (traces) | (foreign) | (model) | (metrics)",
  "(languages) | (sandbox) | (engine)",
  "(files) | (testcode)",
  # folders of tasks come through the door
  "(config) | (stats) | (text) | (examples)",
  "(plugins)",
  "(measurements) : types : errors : (trace) : (installed) : (plugin_metric) : (marks) : (why)",
"""
    + s[j:]
)
i = s.index('name = "Runs are scored without being laid out"')
j = s.index("allow_indirect_imports", i)
s = (
    s[:i]
    + """name = "Runs are scored without being laid out"
type = "forbidden"
source_modules = [
  "markbook.runs.exam.grading", "markbook.runs.reviews.composite", "markbook.runs.reviews.review_rows", "markbook.runs.reviews.summary",
  "markbook.runs.tasks.metrics", "markbook.runs.tasks.scorers",
]
forbidden_modules = [
  "markbook.runs.exam.score_tables", "markbook.runs.exam.sections", "markbook.runs.reviews.reports", "markbook.runs.tasks.sections", "markbook.report",
]
"""
    + s[j:]
)
s = s.replace(' "markbook.metrics.semantic",', "")
open(p, "w").write(s)

# lint
p = "pyproject.toml"
s = open(p).read()
a = """  "ANN401",  # mypy"""
assert a in s
s = s.replace(
    a,
    """  "A002",    # a parameter is called format or range where that is the word for it
"""
    + a,
    1,
)
a = """  "COM812","""
s = s.replace(
    a,
    """  "ARG001",  # what a protocol, a callback or a plugin is given, it takes
  "ARG002",  # as above
"""
    + a,
    1,
)
a = """  "PLC0415","""
s = s.replace(
    a,
    """  "N818",    # an exception may be an event, or say a state; not each is an error
"""
    + a,
    1,
)
a = """  "S101", """
assert a in s
s = s.replace(
    a,
    """  "RUF001",  # a minus sign, a dash and typographic quotes are what is meant
"""
    + a,
    1,
)
a = """  "N818",   # events that never leave the package
"""
assert a in s
s = s.replace(
    a,
    """  "FBT001", # what comes over the wire has a place and no name
  "S102", "S301", "S302", "S307", # running code, and reading what the host wrote, is what it is for
""",
    1,
)
open(p, "w").write(s)


# architecture
p = "docs/architecture.md"
s = open(p).read()


def r(a, b):
    global s
    assert a in s, a[:80]
    s = s.replace(a, b)


r(
    """ files ──> load, traces ──> model ──────> sandbox ──> metrics, judge ──> results ──────> report""",
    """ files ──> benchmarks, ──> model ──────> sandbox, ──> metrics, judge ──> results ──────> report
           datasets, traces               programs""",
)
i = s.index("| floor | rooms | what lies there |")
j = s.index("Rows that are read or written by a declared shape")
s = (
    s[:i]
    + """| floor | packages | what lies there |
|---|---|---|
| 8 | `cli` | a command parses, calls one function, lays out, exits |
| 7 | `documented`, `testing`, `rewards` | the documents' own functions, `assert_marks`, what trainers import |
| 6 | `serve` | rewards for training, in a process or over HTTP: pool, items, guard, endpoints |
| 5 | `runs` | the conductor; `runs/asking`: the questions to a model; `runs/exam`, `runs/tasks`, `runs/reviews`: all that only one kind needs |
| 4 | `report` | lays finished sections out: terminal, HTML, Markdown, other tools' files, the local site, the pages of `label` |
| 3 | `results`, then `store`, `judge` | sheets, comparisons, gates; the run folder and its journal; rubrics and prompts |
| 2 | `benchmarks`, `datasets` | problems with tests and answers to them; rows, templates, filters, predictions, papers |
| 2 | `programs`, `traces`, `foreign`, `model`, `metrics` | programs in any language, built, run, compared; agents' logs; other tools' results; the client for models; what is measured |
| 1 | `languages`, `sandbox`, `engine` | how a language's programs are made and run; untrusted Python; where work runs |
| 1 | `files`, `testcode` | what a user names is opened here, once and within limits; what test programs and replies hold as code |
| 0 | `config`, `stats`, `text`, `plugins` | checked settings, numbers, escaping, the plugin door |
| 0 | `types`, `measurements`, `marks`, `errors` | records and errors; `types` has the names of all records |

"""
    + s[j:]
)
i = s.index("Within a room: `traces/readers`")
j = s.index("## ", i)
end = s.index("\n\n", s.index("divide likewise", i))
s = (
    s[:i]
    + """Within a package: `traces/readers` has one module a framework, and none knows another; `traces/spans` is what the readers of
spans share. `languages` has a module for a family of languages (`interpreted`, `native`, `managed`), beside how programs are
made (`language`) and toolchains found (`toolchain`).
`runs/reviews/composite`, `review_rows` and `summary` are arithmetic on the journal and import nothing that lays out (`reports`).

An exam's attempt gets its number in one place: `runs/exam/grading.py` makes an outcome a `Mark` and that a `Measurement`
(or the reason why there is none, where the problem's own judge failed) and sums them up; `runs/exam/sections`, `score_tables`, `files`
and `rewards` lay out what this says and compute nothing anew. `runs/tasks/scorers` and `runs/tasks/sections` divide likewise, and
`runs/tasks/summaries.py` has the types of what a run of tasks publishes."""
    + s[end:]
)
r(
    "`examination/` | the tests (`examiner`, `separation`); the solution is a peer behind a pipe; what is made wrong to prove a pass beside lies in `proving/`",
    "`examination/` | the tests (`examiner`, `separation`); the solution is a peer behind a pipe; expectations are mutated in `mutated_values`, `mutated_expectations`, `mutation_operators`, and tried in `mutation_proof`",
)
r(
    "`sandbox/turns.py` drives generators (`runs/programs/turns.py`)",
    "`sandbox/turns.py` drives generators (`programs/streams.py`)",
)
r("(`guest/handing.py`)", "(`guest/file_transfer.py`)")
r("(`beside.py`, `canary.py`, `expectations.py`)", "(`in_process_tests.py`, `mutation_canary.py`)")
open(p, "w").write(s)


# the way through the code, for those who change it
p = "CONTRIBUTING.md"
s = open(p).read()
r("    load -> generate -> execute -> measure", "    benchmarks, datasets -> model -> sandbox, programs -> metrics, judge")
open(p, "w").write(s)


# the ratchet of the figures: where it stays
here = pathlib.Path("scripts/reshape")
pathlib.Path("scripts/house.py").write_text((here / "house.py").read_text())
pathlib.Path("tests/test_house.py").write_text((here / "house_test.py.txt").read_text())
