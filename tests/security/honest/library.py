"""Values and machinery of the standard library, errors, and what is printed."""

#== uuids
import uuid
def f(name):
    return uuid.uuid5(uuid.NAMESPACE_DNS, name)
#-- tests
import uuid
isinstance(f("a"), uuid.UUID) and f("a").version == 5

str(f("python.org")) == "886313e1-3b8a-5372-9b90-0c9aee199e5d"

import uuid
f("python.org") == uuid.UUID("886313e1-3b8a-5372-9b90-0c9aee199e5d") and f("a") != f("b")

len(f("a").hex) == 32 and len({f("a"), f("a")}) == 1
#-- wrong
import uuid
def f(name):
    return str(uuid.uuid3(uuid.NAMESPACE_DNS, name))

#== dates_with_zones
from datetime import datetime, timedelta, timezone
def f(text, hours):
    return datetime.fromisoformat(text).replace(tzinfo=timezone(timedelta(hours=hours)))
#-- tests
f("2024-01-02T03:04:05", 2).isoformat() == "2024-01-02T03:04:05+02:00"

from datetime import datetime, timezone
f("2024-01-01T02:00:00", 2) == datetime(2024, 1, 1, tzinfo=timezone.utc)

f("2024-01-01", 1).utcoffset().total_seconds() == 3600

(f("2024-01-02", 0) - f("2024-01-01", 0)).days == 1 and f("2024-01-02", 0) > f("2024-01-01", 0)
#-- wrong
from datetime import datetime, timedelta, timezone
def f(text, hours):
    return datetime.fromisoformat(text).replace(tzinfo=timezone(-timedelta(hours=hours)))

#== zone_info
from datetime import datetime
from zoneinfo import ZoneInfo
def f(text, zone):
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone))
#-- tests
f("2024-07-01T12:00:00", "UTC").isoformat() == "2024-07-01T12:00:00+00:00"

str(f("2024-07-01", "UTC").tzinfo) == "UTC" and f("2024-07-01", "UTC").tzname() == "UTC"
#-- wrong
from datetime import datetime
def f(text, zone):
    return datetime.fromisoformat(text)

#== own_zone_class
import datetime as dt
class Fixed(dt.tzinfo):
    def __init__(self, minutes):
        self.minutes = minutes
    def utcoffset(self, when):
        return dt.timedelta(minutes=self.minutes)
    def dst(self, when):
        return dt.timedelta(0)
    def tzname(self, when):
        return f"M{self.minutes}"
def f(minutes):
    return dt.datetime(2024, 1, 1, 12, tzinfo=Fixed(minutes))
#-- tests
f(90).isoformat() == "2024-01-01T12:00:00+01:30" and f(90).tzname() == "M90"

import datetime
f(60) == datetime.datetime(2024, 1, 1, 11, tzinfo=datetime.timezone.utc)
#-- wrong
import datetime as dt
def f(minutes):
    return dt.datetime(2024, 1, 1, 12, tzinfo=dt.timezone(dt.timedelta(hours=minutes)))

#== dates_and_deltas
import datetime
def f(start, days):
    return start + datetime.timedelta(days=days)
#-- tests
import datetime
f(datetime.date(2024, 2, 28), 2) == datetime.date(2024, 3, 1)

from datetime import datetime as moment
f(moment(2024, 1, 1, 5), 1).strftime("%d/%m %H") == "02/01 05"

import datetime
isinstance(f(datetime.date(2024, 1, 1), 0), datetime.date) and f(datetime.date(2024, 1, 1), 7).weekday() == 0
#-- wrong
import datetime
def f(start, days):
    return start - datetime.timedelta(days=days)

#== regular_expression_matches
import re
def f(text):
    return re.search(r"(?P<key>\w+)=(\d+)", text)
#-- tests
f("a=1").group("key") == "a" and f("a=1").groups() == ("a", "1")

f("x b=22")[2] == "22" and f("x b=22").span() == (2, 6)

f("none") is None and bool(f("q=0"))

f("a=1").groupdict() == {"key": "a"} and f("a=1").re.groups == 2
#-- wrong
import re
def f(text):
    return re.match(r"(?P<key>\w+)=(\d)", text)

#== compiled_patterns
import re
def f(pattern):
    return re.compile(pattern, re.IGNORECASE)
#-- tests
f("a+").findall("aaAb") == ["aaA"] and f("x").pattern == "x"

import re
isinstance(f("a"), re.Pattern) and f("a") == re.compile("a", re.I)

f("(a)(b)").sub(r"\2\1", "ab") == "ba" and f("b").split("abc") == ["a", "c"]
#-- wrong
import re
def f(pattern):
    return re.compile(pattern)

#== paths
from pathlib import PurePosixPath
def f(*parts):
    return PurePosixPath(*parts).with_suffix(".txt")
#-- tests
str(f("a", "b.py")) == "a/b.txt" and f("x.y").stem == "x"

from pathlib import PurePosixPath
f("a", "b") == PurePosixPath("a/b.txt") and isinstance(f("q"), PurePosixPath)

(f("a/b").parent / "c").parts == ("a", "c") and f("z").name == "z.txt"
#-- wrong
from pathlib import PurePosixPath
def f(*parts):
    return PurePosixPath(*parts)

#== files_in_a_temporary_folder
import os
import tempfile
def f(lines):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "x.txt")
        with open(path, "w") as out:
            out.writelines(f"{line}\n" for line in lines)
        with open(path) as back:
            return [line.strip() for line in back], os.path.getsize(path)
#-- canonical
def f(lines):
    return list(lines), sum(len(line) + 1 for line in lines)
#-- tests
f(["a", "bb"]) == (["a", "bb"], 5)

f([]) == ([], 0)
#-- wrong
import tempfile
def f(lines):
    with tempfile.TemporaryFile("w+") as out:
        out.writelines(lines)
        out.seek(0)
        return out.read().split(), out.tell()

#== files_of_the_test
def f(path):
    with open(path) as lines:
        return sum(int(line) for line in lines)
#-- tests
import os, tempfile
folder = tempfile.mkdtemp()
path = os.path.join(folder, "n.txt")
with open(path, "w") as out:
    out.write("1\n2\n")
f(path) == 3
#-- wrong
def f(path):
    with open(path) as lines:
        return sum(1 for line in lines)

#== string_io
import io
def f(rows):
    out = io.StringIO()
    for row in rows:
        print(*row, sep=",", file=out)
    out.seek(0)
    return out
#-- tests
f([(1, 2)]).read() == "1,2\n"

o = f([("a",), ("b",)])
o.readline() == "a\n" and list(o) == ["b\n"]

f([(1,)]).getvalue() == "1\n"

import io
isinstance(f([]), io.StringIO)
#-- wrong
import io
def f(rows):
    return io.StringIO("".join(str(row) for row in rows))

#== writes_to_the_tests_stream
def f(stream, words):
    for word in words:
        stream.write(word + ";")
    return stream.tell()
#-- tests
import io
s = io.StringIO()
f(s, ["a", "b"]) == 4 and s.getvalue() == "a;b;"

class Out:
    def __init__(self):
        self.parts = []
    def write(self, text):
        self.parts.append(text)
    def tell(self):
        return len(self.parts)
o = Out()
f(o, "xy") == 2 and o.parts == ["x;", "y;"]
#-- wrong
def f(stream, words):
    stream.write(";".join(words))
    return stream.tell()

#== csv_and_json
import csv
import io
import json
def f(text):
    return json.dumps(list(csv.DictReader(io.StringIO(text))), sort_keys=True)
#-- tests
f("b,a\n1,2\n") == '[{"a": "2", "b": "1"}]'

import json
json.loads(f("x\n1\n2\n")) == [{"x": "1"}, {"x": "2"}]
#-- wrong
import json
def f(text):
    return json.dumps([line.split(",") for line in text.split()])

#== random_with_a_seed
import random
def f(seed, n):
    random.seed(seed)
    return [random.randint(1, 6) for _ in range(n)]
#-- tests
f(1, 3) == [2, 5, 1]

f(3, 5) == f(3, 5) and all(1 <= v <= 6 for v in f(9, 50))

import random
random.seed(1)
a = [random.randint(1, 6) for _ in range(3)]
f(1, 3) == a
#-- wrong
import random
def f(seed, n):
    random.seed(seed + 1)
    return [random.randint(1, 6) for _ in range(n)]

#== own_random_generator
import random
def f(seed):
    return random.Random(seed)
#-- tests
f(0).random() == 0.8444218515250481

a, b = f(5), f(5)
[a.random() for _ in range(3)] == [b.random() for _ in range(3)]

r = f(2)
xs = list(range(5))
r.shuffle(xs)
sorted(xs) == [0, 1, 2, 3, 4] and len(r.sample(xs, 2)) == 2
#-- wrong
import random
def f(seed):
    return random.Random(seed + 1)

#== random_shuffle_without_seed
import random
def f(xs):
    xs = list(xs)
    random.shuffle(xs)
    return xs
#-- tests
sorted(f([3, 1, 2])) == [1, 2, 3]

import random
random.seed(7)
a = f(range(20))
random.seed(7)
a == f(range(20))

len({tuple(f(range(8))) for _ in range(20)}) > 1
#-- wrong
def f(xs):
    return list(xs)

#== random_patched_by_the_test
import random
def f():
    return "heads" if random.random() < .5 else "tails"
#-- tests
from unittest.mock import patch
with patch("random.random", return_value=0.1):
    a = f()
with patch("random.random", return_value=0.9):
    b = f()
(a, b) == ("heads", "tails")
#-- wrong
import random
def f():
    return "heads" if random.randint(0, 1) == 3 else "tails"

#== time_reading
import time
def f(function):
    began = time.perf_counter()
    result = function()
    return result, time.perf_counter() - began
#-- tests
r, seconds = f(lambda: 5)
r == 5 and 0 <= seconds < 2

import time
f(lambda: time.sleep(0.02))[1] >= 0.02
#-- wrong
def f(function):
    return function(), 0.0

#== clock_patched_by_the_test
import time
class Clock:
    def __init__(self):
        self.began = time.time()
    def seconds(self):
        return time.time() - self.began
def f():
    return Clock()
#-- tests
from unittest import mock
with mock.patch("time.time", side_effect=[100.0, 103.5]):
    c = f()
    r = c.seconds()
r == 3.5

f().seconds() < 2
#-- wrong
class Clock:
    def seconds(self):
        return 0.0
def f():
    return Clock()

#== today
import datetime
def f(birth, today=None):
    today = today or datetime.date.today()
    return today.year - birth.year - ((today.month, today.day) < (birth.month, birth.day))
#-- tests
from datetime import date
f(date(2000, 5, 5), date(2020, 5, 4)) == 19

import datetime
f(datetime.date.today()) == 0
#-- wrong
def f(birth, today=None):
    import datetime
    return (today or datetime.date.today()).year - birth.year + 1

#== environment_and_arguments
import os
def f(name, default):
    return os.environ.get(name, default)
#-- tests
f("NO_SUCH_NAME_HERE", 5) == 5

import os
os.environ["SET_BY_TEST"] = "x"
f("SET_BY_TEST", None) == "x"
#-- wrong
def f(name, default):
    return default

#== standard_input
def f():
    return sum(map(int, input().split()))
#-- tests
import io, sys
sys.stdin = io.StringIO("1 2 3\n")
f() == 6

from unittest.mock import patch
with patch("builtins.input", return_value="4 5"):
    r = f()
r == 9
#-- wrong
def f():
    return len(input().split())

#== printed_text
def f(name):
    print("Hello", name, sep=", ", end="!\n")
#-- tests
import contextlib, io
out = io.StringIO()
with contextlib.redirect_stdout(out):
    f("Ann")
out.getvalue() == "Hello, Ann!\n"

f("x") is None
#-- wrong
def f(name):
    print("Hello " + name)

#== standard_error_is_another_stream
import sys
def f(x):
    print("debug", x, file=sys.stderr)
    print("result", x)
    return x
#-- tests
import contextlib, io
out = io.StringIO()
with contextlib.redirect_stdout(out):
    f(1)
out.getvalue() == "result 1\n"

import contextlib, io
err = io.StringIO()
with contextlib.redirect_stderr(err):
    f(2)
err.getvalue() == "debug 2\n"

f(3) == 3
#-- wrong
def f(x):
    print("debug", x)
    print("result", x)
    return x

#== warnings_and_logging
import logging
import warnings
def f(x):
    if x < 0:
        warnings.warn("negative", UserWarning, stacklevel=2)
        logging.getLogger("app").warning("got %d", x)
    return abs(x)
#-- tests
import warnings
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    f(-1)
[str(w.message) for w in seen] == ["negative"]

import logging
class Keep(logging.Handler):
    lines = []
    def emit(self, record):
        self.lines.append(record.getMessage())
logging.getLogger("app").addHandler(Keep())
f(-3)
Keep.lines == ["got -3"]

f(2) == 2
#-- wrong
def f(x):
    return abs(x)

#== writes_many_lines
def f(n):
    for k in range(n):
        print(k)
#-- tests
import contextlib, io
out = io.StringIO()
with contextlib.redirect_stdout(out):
    f(2000)
len(out.getvalue().splitlines()) == 2000
#-- wrong
def f(n):
    print(list(range(n)))

#== errors_with_attributes
class Rejected(Exception):
    def __init__(self, code, *, reason):
        super().__init__(f"{code}: {reason}")
        self.code = code
        self.reason = reason
        self.seen = []
def f(code):
    raise Rejected(code, reason="bad")
#-- tests
try:
    f(5)
except Rejected as error:
    r = (error.code, error.reason, str(error), error.args)
r == (5, "bad", "5: bad", ("5: bad",))

try:
    f(1)
except Exception as error:
    error.seen.append(3)
    r = error
r.seen == [3] and type(r).__name__ == "Rejected" and isinstance(r, Rejected)
#-- wrong
class Rejected(Exception):
    pass
def f(code):
    raise Rejected(code)

#== chained_errors
def f(text):
    try:
        return int(text)
    except ValueError as error:
        raise KeyError(text) from error
#-- tests
try:
    f("x")
except KeyError as error:
    r = type(error.__cause__).__name__, str(error.__cause__)
r == ("ValueError", "invalid literal for int() with base 10: 'x'")

f("12") == 12
#-- wrong
def f(text):
    try:
        return int(text)
    except ValueError:
        raise KeyError(text) from None

#== errors_of_the_test_pass_through
def f(function, fallback):
    try:
        return function()
    except ZeroDivisionError:
        return fallback
#-- tests
f(lambda: 1 / 0, "none") == "none"

class Mine(Exception):
    def __init__(self, n):
        super().__init__(n)
        self.n = n
def bad():
    raise Mine(4)
try:
    f(bad, 0)
    r = None
except Mine as error:
    r = error.n
r == 4

e = ValueError("same")
def bad():
    raise e
try:
    f(bad, 0)
    r = None
except ValueError as error:
    r = error
r is e
#-- wrong
def f(function, fallback):
    try:
        return function()
    except Exception:
        return fallback

#== builtin_errors_with_messages
def f(kind):
    if kind == "key":
        return {}["k"]
    if kind == "index":
        return [][1]
    if kind == "attribute":
        return (1).nothing
    if kind == "type":
        return "a" + 1
    if kind == "unicode":
        return b"\xff".decode()
    if kind == "os":
        return open("/no/such/file")
    return 1 / 0
#-- tests
r = []
for kind in ["key", "index", "attribute", "type", "unicode", "os", "zero"]:
    try:
        f(kind)
    except Exception as error:
        r.append(type(error).__name__)
r == ["KeyError", "IndexError", "AttributeError", "TypeError", "UnicodeDecodeError", "FileNotFoundError", "ZeroDivisionError"]

try:
    f("os")
except OSError as error:
    r = error.errno, error.filename
r == (2, "/no/such/file")

try:
    f("unicode")
except UnicodeDecodeError as error:
    r = error.start, error.object
r == (0, b"\xff")

try:
    f("key")
except KeyError as error:
    r = error.args
r == ("k",)
#-- wrong
def f(kind):
    raise Exception(kind)

#== exception_groups_and_notes
def f(kinds):
    error = ExceptionGroup("many", [kind("x") for kind in kinds])
    error.add_note("noted")
    raise error
#-- tests
try:
    f([ValueError, KeyError])
except ExceptionGroup as error:
    r = [type(e).__name__ for e in error.exceptions], error.__notes__
r == (["ValueError", "KeyError"], ["noted"])

seen = []
try:
    f([ValueError, TypeError])
except* ValueError as group:
    seen.append(len(group.exceptions))
except* TypeError as group:
    seen.append("type")
seen == [1, "type"]
#-- wrong
def f(kinds):
    raise kinds[0]("x")

#== asserts_in_the_solution
def f(x):
    assert x > 0, "must be positive"
    return x
#-- tests
try:
    f(-1)
    r = None
except AssertionError as error:
    r = str(error)
r == "must be positive"

f(2) == 2
#-- wrong
def f(x):
    return x

#== unittest_in_a_program
def f(a, b):
    if b == 0:
        raise ZeroDivisionError("no")
    return a / b
#-- tests
import unittest
class Cases(unittest.TestCase):
    def test_value(self):
        self.assertEqual(f(4, 2), 2)
        self.assertAlmostEqual(f(1, 3), 0.3333333, places=5)
    def test_error(self):
        with self.assertRaises(ZeroDivisionError):
            f(1, 0)
result = unittest.TestResult()
unittest.defaultTestLoader.loadTestsFromTestCase(Cases).run(result)
assert result.testsRun == 2 and result.wasSuccessful()
#-- wrong
def f(a, b):
    return a / b if b else 0

#== threads_inside
import threading
def f(n):
    total, lock = [0], threading.Lock()
    def work():
        for _ in range(100):
            with lock:
                total[0] += 1
    threads = [threading.Thread(target=work) for _ in range(n)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return total[0]
#-- canonical
def f(n):
    return n * 100
#-- tests
f(4) == 400

f(0) == 0
#-- wrong
def f(n):
    return n * 10

#== thread_pool_with_callbacks
from concurrent.futures import ThreadPoolExecutor
def f(function, xs):
    with ThreadPoolExecutor(3) as pool:
        return list(pool.map(function, xs))
#-- tests
f(lambda v: v * v, [1, 2, 3]) == [1, 4, 9]

f(str, range(4)) == ["0", "1", "2", "3"]
#-- wrong
def f(function, xs):
    return [function(x) for x in reversed(xs)]

#== queue_between_threads
import queue
import threading
class Worker:
    def __init__(self):
        self.inbox, self.done = queue.Queue(), []
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()
    def _run(self):
        while (item := self.inbox.get()) is not None:
            self.done.append(item * 2)
    def send(self, item):
        self.inbox.put(item)
    def stop(self):
        self.inbox.put(None)
        self.thread.join(5)
        return self.done
def f():
    return Worker()
#-- tests
w = f()
w.send(1)
w.send(2)
w.stop() == [2, 4]
#-- wrong
class Worker:
    def __init__(self):
        self.done = []
    def send(self, item):
        self.done.append(item)
    def stop(self):
        return self.done
def f():
    return Worker()

#== deep_and_shallow_copies
import copy
def f(value, deep):
    return (copy.deepcopy if deep else copy.copy)(value)
#-- tests
x = [[1], {2}]
y, z = f(x, True), f(x, False)
y == x and y[0] is not x[0] and z[0] is x[0] and z is not x

d = {"k": [1]}
f(d, True)["k"].append(2)
d == {"k": [1]}
#-- wrong
def f(value, deep):
    return value

#== operator_getters
import operator
def f(*keys):
    return operator.itemgetter(*keys)
#-- tests
f(1)([5, 6]) == 6 and f("a", "b")({"a": 1, "b": 2}) == (1, 2)

sorted([(2, "x"), (1, "y")], key=f(0)) == [(1, "y"), (2, "x")]
#-- wrong
import operator
def f(*keys):
    return operator.itemgetter(*reversed(keys)) if len(keys) > 1 else operator.itemgetter(0)

#== typed_signatures_inspected
import typing
def f(a: int, b: "list[str]" = None) -> typing.Optional[dict]:
    """Return nothing much."""
#-- tests
import inspect
list(inspect.signature(f).parameters) == ["a", "b"]

import typing
typing.get_type_hints(f)["a"] is int

f.__doc__ == "Return nothing much." and f.__defaults__ == (None,)
#-- wrong
def f(a, c=None):
    pass

#== generic_aliases
from typing import Dict, List, Optional
def f(name):
    return {"list": List[int], "dict": Dict[str, int], "opt": Optional[int], "new": list[int], "union": int | None}[name]
#-- tests
from typing import List
f("list") == List[int]

f("new").__origin__ is list and f("new").__args__ == (int,)

f("new") == list[int] and f("union") == int | None
#-- wrong
def f(name):
    return {"list": list, "dict": dict, "opt": int, "new": set[int], "union": int}[name]

#== text_with_odd_characters
def f(text):
    return text[::-1], text.encode("utf-8", "surrogatepass"), text.casefold()
#-- tests
f("a\ud800é\0")[0] == "\0é\ud800a"

f("Straße")[2] == "strasse" and f("😀")[1] == b"\xf0\x9f\x98\x80"

f("\r\n\u2028")[0] == "\u2028\n\r"
#-- wrong
def f(text):
    return text[::-1].replace("\0", ""), text.encode("utf-8", "replace"), text.lower()

#== hashes_and_encodings
import base64
import hashlib
def f(data):
    return hashlib.sha256(data), base64.b64encode(data)
#-- tests
f(b"")[0].hexdigest()[:8] == "e3b0c442" and f(b"a")[1] == b"YQ=="

h = f(b"a")[0]
h.update(b"b")
h.hexdigest() == f(b"ab")[0].hexdigest() and h.name == "sha256"
#-- wrong
import base64
import hashlib
def f(data):
    return hashlib.md5(data), base64.b64encode(data)

#== bisect_and_statistics
import bisect
import statistics
def f(xs):
    ordered = []
    for x in xs:
        bisect.insort(ordered, x)
    return ordered, statistics.median(ordered), statistics.pstdev(ordered)
#-- tests
f([3, 1, 2])[:2] == ([1, 2, 3], 2)

abs(f([1, 3])[2] - 1.0) < 1e-12 and f([1, 2])[1] == 1.5
#-- wrong
import statistics
def f(xs):
    return sorted(xs), statistics.mean(xs) + 1, statistics.stdev(xs)

#== simple_namespace
from types import SimpleNamespace
def f(**values):
    return SimpleNamespace(**values)
#-- tests
f(a=1).a == 1 and f(a=1) == f(a=1) and f(a=1) != f(a=2)

n = f(xs=[1])
n.xs.append(2)
n.y = 3
n.xs == [1, 2] and vars(n) == {"xs": [1, 2], "y": 3}

repr(f(a=1)) == "namespace(a=1)"
#-- wrong
def f(**values):
    return dict(values)

#== singletons_of_the_language
def f(name):
    return {"none": None, "dots": ..., "not": NotImplemented, "true": True}[name]
#-- tests
f("none") is None and f("dots") is ... and f("not") is NotImplemented and f("true") is True
#-- wrong
def f(name):
    return {"none": 0, "dots": "...", "not": None, "true": 1}[name]

#== bool_and_int_are_kept_apart
def f(x):
    return type(x)(x)
#-- tests
f(True) is True and f(1) == 1 and f(1) is not True and repr(f(1.0)) == "1.0"

[repr(f(v)) for v in (1, 1.0, True, "1", b"1")] == ["1", "1.0", "True", "'1'", "b'1'"]
#-- wrong
def f(x):
    return int(x)
