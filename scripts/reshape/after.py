"""What follows the moves of `modules.py`: emptied packages, docstrings of new ones, layers, lint rules, the page on architecture."""

import pathlib
import re
import shutil

for name in ("load", "stdio", "server", "runs/programs", "languages/definitions", "sandbox/guest/examination/proving"):
    shutil.rmtree(pathlib.Path("src/markbook", name), ignore_errors=True)
for name, text in [
    (
        "programs",
        "Programs in any language: built, run test by test, compared or judged, remembered, and why they failed.",
    ),
    ("benchmarks", "Problems with tests, and answers to them. All of it is hostile until parsed."),
    ("benchmarks/formats", "The benchmarks whose files are read as they are published, a module a layout."),
    (
        "datasets",
        "What tasks and reviews read: rows, templates, filters, predictions, papers. All of it is hostile until parsed.",
    ),
    ("testcode", "What a test program is: how it is completed, whether it can fail, whether it is broken."),
    ("serve", "Rewards for training: verdicts from the sandboxes that an exam uses, in a process or over HTTP."),
]:
    pathlib.Path("src/markbook", name, "__init__.py").write_text(f'"""{text}"""\n')


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
  "(documented) | (testing) | (doctor) | (rewards)",
  "(documented_reviews) | (serve)",
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
  "(measurements) : types : errors : (trace) : (installed) : (plugin_metric) : (option_values) : (marks) : (why) : (evidence)",
"""
    + s[j:]
)
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
| 7 | `documented`, `testing`, `doctor`, `rewards` | the documents' own functions, `assert_marks`, what trainers import |
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
r(
    """spans share. `languages/definitions` has one module a language; how programs are made and toolchains found lies beside it.
""",
    """spans share. `languages` has a module a language or a family of them (`interpreted`, `native`, `jvm`), beside how programs are
made (`language`) and toolchains found (`toolchain`).
""",
)
r(
    "`examination/` | the tests (`examiner`, `separation`); the solution is a peer behind a pipe; what is made wrong to prove a pass beside lies in `proving/`",
    "`examination/` | the tests (`examiner`, `separation`); the solution is a peer behind a pipe; expectations are mutated in `mutation/`",
)
r(
    "`sandbox/turns.py` drives generators (`runs/programs/turns.py`)",
    "`sandbox/turns.py` drives generators (`programs/streams.py`)",
)
r("(`beside.py`, `canary.py`, `expectations.py`)", "(`beside.py`, `mutation/`)")
s = s.replace("make a run.", "make a run.")
open(p, "w").write(s)
