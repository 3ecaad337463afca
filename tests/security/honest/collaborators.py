"""Programs that work with what the test brings, each in two makes: buses, visitors, pipelines, orders, machines, parsers, zones, paths."""

#== bus_made_by_the_solution
class Bus:
    def __init__(self):
        self._subs = []
    def subscribe(self, kind, handler):
        entry = [kind, handler]
        self._subs.append(entry)
        def undo():
            if entry in self._subs:
                self._subs.remove(entry)
        return undo
    def emit(self, event):
        return sum(1 for kind, handler in list(self._subs) if isinstance(event, kind) and (handler(event) or True))
def f(): return Bus()
#-- canonical
from collections import defaultdict
class EventBus:
    def __init__(self):
        self.table = defaultdict(dict)
        self.serial = 0
    def subscribe(self, kind, handler):
        self.serial += 1
        key = self.serial
        self.table[kind][key] = handler
        return lambda: self.table[kind].pop(key, None)
    def emit(self, event):
        count = 0
        for kind in type(event).__mro__:
            for handler in tuple(self.table.get(kind, {}).values()):
                handler(event)
                count += 1
        return count
def f(): return EventBus()
#-- tests
class Event:
    def __init__(self, n): self.n = n
class Click(Event): pass
class Key(Event): pass
bus = f()
got = []
stop = bus.subscribe(Click, lambda e: got.append(("click", e.n)))
bus.subscribe(Event, lambda e: got.append(("any", e.n)))
assert bus.emit(Click(1)) == 2
assert sorted(got) == [("any", 1), ("click", 1)]
stop()
assert bus.emit(Click(2)) == 1
assert bus.emit(Key(3)) == 1
assert got[-2:] == [("any", 2), ("any", 3)]

bus = f()
stop = bus.subscribe(int, print)
stop()
stop()
assert bus.emit(5) == 0
#-- wrong
class Bus:
    def __init__(self): self.subs = []
    def subscribe(self, kind, handler):
        self.subs.append((kind, handler))
        return lambda: None
    def emit(self, event):
        n = 0
        for kind, handler in self.subs:
            if type(event) is kind:
                handler(event)
                n += 1
        return n
def f(): return Bus()

#== bus_priority_and_stop
def f(listeners, event):
    for rank in sorted({r for r, _ in listeners}, reverse=True):
        for r, handler in listeners:
            if r == rank and handler(event) is False:
                return event.trail
    return event.trail
#-- canonical
def f(listeners, event):
    for _, handler in sorted(listeners, key=lambda pair: -pair[0]):
        if handler(event) is False:
            break
    return event.trail
#-- tests
class Event:
    def __init__(self): self.trail = []
def mark(name, result=None):
    def handler(event):
        event.trail.append(name)
        return result
    return handler
f([(1, mark("low")), (9, mark("high")), (5, mark("mid", False))], Event()) == ["high", "mid"]

e = Event()
out = f([(1, mark("a")), (1, mark("b", 0)), (2, mark("c"))], e)
assert out == ["c", "a", "b"]
assert e.trail == out

f([], Event()) == []
#-- wrong
def f(listeners, event):
    for _, handler in listeners:
        handler(event)
    return event.trail

#== visitor_walk_with_enter_and_leave
def f(tree, enter, leave):
    stack = [(tree, False)]
    while stack:
        node, done = stack.pop()
        if done:
            leave(node)
            continue
        enter(node)
        stack.append((node, True))
        for child in reversed(node.children):
            stack.append((child, False))
#-- canonical
def f(tree, enter, leave):
    enter(tree)
    for child in tree.children:
        f(child, enter, leave)
    leave(tree)
#-- tests
class Node:
    def __init__(self, name, *children): self.name, self.children = name, children
trail = []
f(Node("a", Node("b", Node("c")), Node("d")), lambda n: trail.append("+" + n.name), lambda n: trail.append("-" + n.name))
" ".join(trail) == "+a +b +c -c -b +d -d -a"

class Node:
    def __init__(self, name, children=()): self.name, self.children, self.size = name, list(children), 0
root = Node("r", [Node("x"), Node("y", [Node("z")])])
def leave(n): n.size = 1 + sum(c.size for c in n.children)
f(root, lambda n: None, leave)
assert [root.size, root.children[1].size] == [4, 2]
#-- wrong
def f(tree, enter, leave):
    enter(tree)
    leave(tree)
    for child in tree.children:
        f(child, enter, leave)

#== pipe_with_operator
class Pipe:
    def __init__(self, fn): self.fn = fn
    def __ror__(self, xs): return self.fn(xs)
    def __rrshift__(self, xs): return self.fn(xs)
def f(fn): return Pipe(fn)
#-- canonical
class Step:
    __slots__ = ("run",)
    def __init__(self, run):
        self.run = run
    def __ror__(self, data):
        return self.run(data)
    def __rrshift__(self, data):
        return self.__ror__(data)
def f(fn):
    return Step(fn)
#-- tests
double = f(lambda xs: [2 * x for x in xs])
keep = f(lambda xs: [x for x in xs if x > 2])
[1, 2, 3] | double | keep == [4, 6]

total = f(sum)
(1, 2, 3) >> total == 6
#-- wrong
class Pipe:
    def __init__(self, fn): self.fn = fn
    def __ror__(self, xs): return xs
    def __rrshift__(self, xs): return xs
def f(fn): return Pipe(fn)

#== pipe_window_over_a_test_iterator
from collections import deque
def f(it, n):
    w = deque(maxlen=n)
    for x in it:
        w.append(x)
        if len(w) == n:
            yield tuple(w)
#-- canonical
def f(it, n):
    it = iter(it)
    window = []
    for item in it:
        window = (window + [item])[-n:]
        if len(window) == n:
            yield tuple(window)
#-- tests
class Counter:
    def __init__(self, n): self.n, self.asked = n, 0
    def __iter__(self): return self
    def __next__(self):
        if self.asked == self.n:
            raise StopIteration
        self.asked += 1
        return self.asked
c = Counter(5)
assert list(f(c, 3)) == [(1, 2, 3), (2, 3, 4), (3, 4, 5)]
assert c.asked == 5

c = Counter(100)
w = f(c, 2)
assert next(w) == (1, 2)
assert c.asked == 2
assert next(w) == (2, 3)
assert c.asked == 3

list(f(iter("ab"), 3)) == []
#-- wrong
def f(it, n):
    xs = list(it)
    for i in range(len(xs) - n):
        yield tuple(xs[i:i + n])

#== memo_given_as_argument
def f(memo):
    @memo
    def ways(n, m):
        if n == 0 or m == 0:
            return 1
        return ways(n - 1, m) + ways(n, m - 1)
    return ways
#-- canonical
def f(memo):
    def grid(r, c):
        return 1 if not r or not c else cached(r - 1, c) + cached(r, c - 1)
    cached = memo(grid)
    return cached
#-- tests
def memo(fn):
    store = {}
    def wrap(*a):
        if a not in store:
            wrap.misses += 1
            store[a] = fn(*a)
        return store[a]
    wrap.misses = 0
    return wrap
g = f(memo)
assert g(4, 4) == 70
assert g.misses == 24
assert g(4, 4) == 70
assert g.misses == 24

import functools
g = f(functools.lru_cache(maxsize=None))
g(10, 10) == 184756
#-- wrong
def f(memo):
    def ways(n, m):
        return n + m
    return memo(ways)

#== mapping_bidirectional
class BiMap:
    def __init__(self): self.fwd, self.back = {}, {}
    def put(self, k, v):
        if v in self.back and self.back[v] != k:
            raise ValueError(f"{v!r} is taken")
        self.back.pop(self.fwd.get(k), None)
        self.fwd[k], self.back[v] = v, k
    def __getitem__(self, k): return self.fwd[k]
    def inverse(self, v): return self.back[v]
def f(): return BiMap()
#-- canonical
class Both(dict):
    def put(self, key, value):
        for other in self:
            if self[other] == value and other != key:
                raise ValueError("%r is taken" % (value,))
        self[key] = value
    def inverse(self, value):
        for key, v in self.items():
            if v == value:
                return key
        raise KeyError(value)
def f():
    return Both()
#-- tests
m = f()
m.put("a", 1)
m.put("b", 2)
assert m["a"] == 1 and m.inverse(2) == "b"
m.put("a", 3)
assert m.inverse(3) == "a"
try:
    m.inverse(1)
    lost = False
except KeyError:
    lost = True
assert lost
import unittest
with unittest.TestCase().assertRaisesRegex(ValueError, "2 is taken"):
    m.put("c", 2)
#-- wrong
class Both(dict):
    def put(self, k, v): self[k] = v
    def inverse(self, v): return "b"
def f(): return Both()

#== mapping_default_factory_of_the_test
def f(pairs, table):
    for k, v in pairs:
        table[k].append(v)
    return table
#-- canonical
def f(pairs, table):
    for k, v in pairs:
        bucket = table[k]
        bucket += [v]
    return table
#-- tests
class Auto(dict):
    made = 0
    def __missing__(self, key):
        Auto.made += 1
        self[key] = []
        return self[key]
t = Auto()
r = f([("a", 1), ("b", 2), ("a", 3)], t)
assert t == {"a": [1, 3], "b": [2]}
assert Auto.made == 2
assert r is t
#-- wrong
def f(pairs, table):
    for k, v in pairs:
        table[k] = [v]
    return table

#== protocol_runtime_checkable
def f(things):
    out = []
    for t in things:
        if isinstance(t, Drawable):
            out.append(t.draw())
    return out
from typing import Protocol, runtime_checkable
@runtime_checkable
class Drawable(Protocol):
    def draw(self): ...
#-- canonical
def f(things):
    return [t.draw() for t in things if callable(getattr(t, "draw", None))]
#-- tests
class Circle:
    def __init__(self, r): self.r = r
    def draw(self): return f"circle {self.r}"
class Text:
    def write(self): return "text"
class Square:
    def draw(self): return "square"
f([Circle(2), Text(), Square(), 5]) == ["circle 2", "square"]

f([]) == []
#-- wrong
def f(things):
    return [str(t) for t in things]

#== ctx_nested_transactions_of_the_test
def f(db, steps):
    with db.transaction() as t:
        for s in steps:
            t.run(s)
    return db.log
#-- canonical
from contextlib import ExitStack
def f(db, steps):
    with ExitStack() as stack:
        t = stack.enter_context(db.transaction())
        [t.run(step) for step in steps]
    return db.log
#-- tests
class Tx:
    def __init__(self, db): self.db = db
    def __enter__(self):
        self.db.log.append("begin")
        return self
    def __exit__(self, kind, value, tb):
        self.db.log.append("rollback" if kind else "commit")
        return kind is not None and issubclass(kind, LookupError)
    def run(self, step):
        if step == "bad":
            raise KeyError(step)
        if step == "worse":
            raise TypeError(step)
        self.db.log.append(step)
class Db:
    def __init__(self): self.log = []
    def transaction(self): return Tx(self)
assert f(Db(), ["a", "b"]) == ["begin", "a", "b", "commit"]
assert f(Db(), ["a", "bad", "b"]) == ["begin", "a", "rollback"]
d = Db()
try:
    f(d, ["worse"])
    error = None
except TypeError as e:
    error = e.args
assert error == ("worse",) and d.log == ["begin", "rollback"]
#-- wrong
def f(db, steps):
    t = db.transaction().__enter__()
    for s in steps:
        t.run(s)
    db.log.append("commit")
    return db.log

#== ctx_restores_attribute
from contextlib import contextmanager
@contextmanager
def f(obj, **changes):
    old = {k: getattr(obj, k) for k in changes}
    for k, v in changes.items():
        setattr(obj, k, v)
    try:
        yield obj
    finally:
        for k, v in old.items():
            setattr(obj, k, v)
#-- canonical
class f:
    def __init__(self, obj, **changes):
        self.obj, self.changes = obj, changes
    def __enter__(self):
        self.saved = []
        for name in self.changes:
            self.saved.append((name, getattr(self.obj, name)))
            setattr(self.obj, name, self.changes[name])
        return self.obj
    def __exit__(self, *error):
        while self.saved:
            setattr(self.obj, *self.saved.pop())
        return False
#-- tests
class Settings:
    debug = False
    level = 3
s = Settings()
with f(s, debug=True, level=9) as inner:
    assert inner is s
    assert (s.debug, s.level) == (True, 9)
assert (s.debug, s.level) == (False, 3)
try:
    with f(s, level=1):
        raise ValueError("out")
except ValueError as e:
    assert str(e) == "out"
else:
    assert False
assert s.level == 3
#-- wrong
from contextlib import contextmanager
@contextmanager
def f(obj, **changes):
    for k, v in changes.items():
        setattr(obj, k, v)
    yield obj

#== log_handler_of_the_solution
import logging
class Ring(logging.Handler):
    def __init__(self, n):
        super().__init__()
        self.n, self.lines = n, []
    def emit(self, record):
        self.lines = (self.lines + [record.getMessage()])[-self.n:]
def f(n): return Ring(n)
#-- canonical
import logging
from collections import deque
class Last(logging.Handler):
    def __init__(self, size):
        logging.Handler.__init__(self)
        self._kept = deque(maxlen=size)
    @property
    def lines(self):
        return list(self._kept)
    def emit(self, record):
        self._kept.append(record.msg % record.args if record.args else record.msg)
def f(n):
    return Last(n)
#-- tests
import logging
h = f(2)
log = logging.Logger("x")
log.addHandler(h)
log.info("a")
log.info("b %d", 2)
log.info("c")
assert h.lines == ["b 2", "c"]
assert isinstance(h, logging.Handler)

import logging
h = f(3)
h.emit(logging.LogRecord("n", 10, "p", 1, "text %s", ("z",), None))
h.lines == ["text z"]
#-- wrong
import logging
class Ring(logging.Handler):
    def __init__(self, n):
        super().__init__()
        self.lines = []
    def emit(self, record): self.lines.append(record.msg)
def f(n): return Ring(n)

#== fs_fake_walk
def f(fs, root):
    total = 0
    todo = [root]
    while todo:
        path = todo.pop()
        if fs.is_dir(path):
            todo.extend(fs.listdir(path))
        else:
            total += fs.size(path)
    return total
#-- canonical
def f(fs, root):
    if not fs.is_dir(root):
        return fs.size(root)
    return sum(f(fs, child) for child in fs.listdir(root))
#-- tests
class Fs:
    def __init__(self, tree): self.tree, self.calls = tree, []
    def is_dir(self, p): return isinstance(self.tree[p], list)
    def listdir(self, p):
        self.calls.append(p)
        return [f"{p}/{n}" for n in self.tree[p]]
    def size(self, p): return self.tree[p]
fs = Fs({"r": ["a", "b"], "r/a": 3, "r/b": ["c"], "r/b/c": 4})
assert f(fs, "r") == 7
assert sorted(fs.calls) == ["r", "r/b"]
assert f(fs, "r/a") == 3
#-- wrong
def f(fs, root):
    return sum(fs.size(p) for p in fs.listdir(root) if not fs.is_dir(p))

#== io_line_reader_over_chunks
def f(read):
    buf = ""
    while chunk := read(4):
        buf += chunk
        while "\n" in buf:
            line, buf = buf.split("\n", 1)
            yield line
    if buf:
        yield buf
#-- canonical
def f(read):
    pieces = []
    for chunk in iter(lambda: read(3), ""):
        head, *rest = chunk.split("\n")
        pieces.append(head)
        for part in rest:
            yield "".join(pieces)
            pieces = [part]
    last = "".join(pieces)
    if last:
        yield last
#-- tests
import io
list(f(io.StringIO("ab\nlonger line\n\nend").read)) == ["ab", "longer line", "", "end"]

class Slow:
    def __init__(self, text): self.text = text
    def read(self, n):
        out, self.text = self.text[:1], self.text[1:]
        return out
list(f(Slow("x\ny\n").read)) == ["x", "y"]

list(f(lambda n: "")) == []
#-- wrong
def f(read):
    yield from read(10 ** 6).split("\n")

#== rng_injected_shuffle
def f(rng, xs):
    xs = list(xs)
    for i in range(len(xs) - 1, 0, -1):
        j = rng.randrange(i + 1)
        xs[i], xs[j] = xs[j], xs[i]
    return xs
#-- canonical
def f(rng, xs):
    out = [*xs]
    i = len(out)
    while i > 1:
        j = rng.randrange(i)
        i -= 1
        out[j], out[i] = out[i], out[j]
    return out
#-- tests
class Fixed:
    def __init__(self, *values): self.values, self.limits = list(values), []
    def randrange(self, n):
        self.limits.append(n)
        return self.values.pop(0)
r = Fixed(0, 2, 1)
assert f(r, "abcd") == ["d", "b", "c", "a"]
assert r.limits == [4, 3, 2]

import random
one, two = f(random.Random(7), range(8)), f(random.Random(7), range(8))
assert one == two
assert sorted(one) == list(range(8))
#-- wrong
def f(rng, xs):
    return sorted(xs)

#== np_gradient_descent_with_callbacks | needs numpy
import numpy as np
def f(grad, x, lr, steps, on_step=None):
    for k in range(steps):
        x = x - lr * grad(x)
        if on_step:
            on_step(k, x.copy())
    return x
#-- canonical
import numpy as np
def f(grad, x, lr, steps, on_step=None):
    x = np.array(x, dtype=float)
    k = 0
    while k < steps:
        x -= lr * np.asarray(grad(x))
        if on_step is not None:
            on_step(k, np.array(x))
        k += 1
    return x
#-- tests
import numpy as np
path = []
r = f(lambda v: 2 * v, np.array([4.0, -2.0]), 0.25, 3, lambda k, v: path.append((k, v.tolist())))
assert np.allclose(r, [0.5, -0.25])
assert path == [(0, [2.0, -1.0]), (1, [1.0, -0.5]), (2, [0.5, -0.25])]

import numpy as np
A = np.array([[2.0, 0.0], [0.0, 1.0]])
r = f(lambda v: A @ v - np.array([2.0, 3.0]), np.zeros(2), 0.4, 80)
np.abs(r - [1, 3]).max() < 1e-6
#-- wrong
import numpy as np
def f(grad, x, lr, steps, on_step=None):
    return x - lr * grad(x)

#== tree_dataclass_map_to_new
def f(node, fn):
    return type(node)(fn(node.value), [f(c, fn) for c in node.children])
#-- canonical
from dataclasses import replace
def f(node, fn):
    return replace(node, value=fn(node.value), children=[f(child, fn) for child in node.children])
#-- tests
from dataclasses import dataclass, field
@dataclass
class Node:
    value: str
    children: list = field(default_factory=list)
t = Node("a", [Node("b"), Node("c", [Node("d")])])
u = f(t, str.upper)
assert u == Node("A", [Node("B"), Node("C", [Node("D")])])
assert t.value == "a" and u is not t
#-- wrong
def f(node, fn):
    node.value = fn(node.value)
    return node

#== link_flatten_nested_nodes
def f(head):
    out = []
    def go(n):
        while n:
            out.append(n)
            child, nxt = n.child, n.next
            n.child = None
            go(child)
            n = nxt
    go(head)
    for a, b in zip(out, out[1:]):
        a.next = b
    return head
#-- canonical
def f(head):
    stack, last = [head], None
    while stack:
        n = stack.pop()
        if n is None:
            continue
        if last is not None:
            last.next = n
        stack.append(n.next)
        stack.append(n.child)
        n.child = None
        last = n
    return head
#-- tests
class N:
    def __init__(self, v, child=None, next=None): self.v, self.child, self.next = v, child, next
h = N(1, child=N(2, next=N(3, child=N(4))), next=N(5))
f(h)
vs, n = [], h
while n:
    assert n.child is None
    vs.append(n.v)
    n = n.next
assert vs == [1, 2, 3, 4, 5]
#-- wrong
def f(head):
    head.child = None
    return head

#== async_queue_consumer
async def f(queue, handle):
    n = 0
    while (item := await queue.get()) is not None:
        await handle(item)
        n += 1
    return n
#-- canonical
async def f(queue, handle):
    count = 0
    while True:
        item = await queue.get()
        if item is None:
            break
        count += 1
        result = handle(item)
        await result
    return count
#-- tests
import asyncio
class Q:
    def __init__(self, items): self.items = list(items)
    async def get(self):
        await asyncio.sleep(0)
        return self.items.pop(0)
got = []
async def handle(x): got.append(x)
assert asyncio.run(f(Q([1, 2, None, 3]), handle)) == 2
assert got == [1, 2]
#-- wrong
async def f(queue, handle):
    return 2

#== err_class_of_the_solution_with_state
class QuotaError(ValueError):
    def __init__(self, used, limit):
        super().__init__(used, limit)
        self.used, self.limit = used, limit
    @property
    def over(self): return self.used - self.limit
    def __str__(self): return f"{self.used}/{self.limit}"
def f(used, limit):
    if used > limit:
        raise QuotaError(used, limit)
    return limit - used
#-- canonical
class Over(ValueError):
    def __str__(self):
        return "{}/{}".format(*self.args)
    def __getattr__(self, name):
        used, limit = self.args
        try:
            return {"used": used, "limit": limit, "over": used - limit}[name]
        except KeyError:
            raise AttributeError(name) from None
def f(used, limit):
    left = limit - used
    if left < 0:
        raise Over(used, limit)
    return left
#-- tests
f(2, 5) == 3

try:
    f(9, 5)
    e = None
except ValueError as error:
    e = error
assert e is not None
assert (e.used, e.limit, e.over) == (9, 5, 4)
assert str(e) == "9/5"
assert e.args == (9, 5)
#-- wrong
def f(used, limit):
    if used > limit:
        raise ValueError("too much")
    return limit - used

#== op_own_interval_class
class Interval:
    def __init__(self, lo, hi): self.lo, self.hi = lo, hi
    def __and__(self, o):
        lo, hi = max(self.lo, o.lo), min(self.hi, o.hi)
        return Interval(lo, hi) if lo <= hi else None
    def __or__(self, o): return Interval(min(self.lo, o.lo), max(self.hi, o.hi))
    def __contains__(self, x): return self.lo <= x <= self.hi
    def __repr__(self): return f"[{self.lo}, {self.hi}]"
def f(lo, hi): return Interval(lo, hi)
#-- canonical
from collections import namedtuple
class Span(namedtuple("Span", "lo hi")):
    def __and__(self, other):
        span = Span(max(self[0], other[0]), min(self[1], other[1]))
        return span if span.lo <= span.hi else None
    def __or__(self, other):
        return Span(min(self[0], other[0]), max(self[1], other[1]))
    def __contains__(self, x):
        return not (x < self.lo or x > self.hi)
    def __repr__(self):
        return "[%s, %s]" % (self[0], self[1])
def f(lo, hi):
    return Span(lo, hi)
#-- tests
a, b = f(1, 5), f(3, 9)
assert repr(a & b) == "[3, 5]"
assert repr(a | b) == "[1, 9]"
assert 4 in a and 6 not in a
assert (f(1, 2) & f(5, 6)) is None

str(f(0, 1) | f(2, 3) | f(9, 9)) == "[0, 9]"
#-- wrong
class Interval:
    def __init__(self, lo, hi): self.lo, self.hi = lo, hi
    def __and__(self, o): return self
    def __or__(self, o): return o
    def __contains__(self, x): return True
def f(lo, hi): return Interval(lo, hi)

#== key_with_side_effects_counts
def f(xs, key):
    return [x for _, _, x in sorted((key(x), i, x) for i, x in enumerate(xs))]
#-- canonical
def f(xs, key):
    return sorted(xs, key=key)
#-- tests
asked = []
def key(x):
    asked.append(x)
    return -x
assert f([3, 1, 2], key) == [3, 2, 1]
assert asked == [3, 1, 2]

n = 0
def order(x):
    global n
    n += 1
    return n
assert f("hello", order) == list("hello")
assert n == 5
#-- wrong
def f(xs, key):
    out = list(xs)
    for i in range(len(out)):
        for j in range(i + 1, len(out)):
            if key(out[j]) < key(out[i]):
                out[i], out[j] = out[j], out[i]
    return out

#== pq_class_with_injected_before
class Queue:
    def __init__(self, before): self.before, self.items = before, []
    def push(self, x):
        i = len(self.items)
        while i and self.before(x, self.items[i - 1]):
            i -= 1
        self.items.insert(i, x)
    def pop(self): return self.items.pop(0)
    def __len__(self): return len(self.items)
    def __bool__(self): return bool(self.items)
def f(before): return Queue(before)
#-- canonical
import heapq, itertools
class Heap:
    def __init__(self, before):
        serial = itertools.count()
        class Entry:
            __slots__ = ("item", "no")
            def __init__(self, item): self.item, self.no = item, next(serial)
            def __lt__(self, other):
                if before(self.item, other.item):
                    return True
                return not before(other.item, self.item) and self.no < other.no
        self.entry, self.heap = Entry, []
    def push(self, x):
        heapq.heappush(self.heap, self.entry(x))
    def pop(self):
        return heapq.heappop(self.heap).item
    def __len__(self):
        return len(self.heap)
def f(before):
    return Heap(before)
#-- tests
q = f(lambda a, b: a > b)
for x in [3, 9, 4, 9]:
    q.push(x)
out = []
while q:
    out.append(q.pop())
assert out == [9, 9, 4, 3]
try:
    q.pop()
    e = None
except IndexError as error:
    e = "empty"
assert e == "empty"

class Job:
    def __init__(self, n, at): self.n, self.at = n, at
q = f(lambda a, b: a.at < b.at)
for n, at in [("x", 2), ("y", 1), ("z", 2)]:
    q.push(Job(n, at))
assert "".join(q.pop().n for _ in range(len(q))) == "yxz"
#-- wrong
class Queue(list):
    def push(self, x): self.append(x)
def f(before): return Queue()

#== fsm_generator_coroutine_of_the_solution
def f(on_word):
    def machine():
        word = ""
        while True:
            c = yield word
            if c.isalpha():
                word += c
            elif word:
                on_word(word)
                word = ""
    m = machine()
    next(m)
    return m
#-- canonical
class Lexer:
    def __init__(self, on_word): self.buffer, self.on_word = [], on_word
    def send(self, c):
        if c.isalpha():
            self.buffer.append(c)
        elif self.buffer:
            self.on_word("".join(self.buffer))
            self.buffer.clear()
        return "".join(self.buffer)
def f(on_word):
    return Lexer(on_word)
#-- tests
words = []
m = f(words.append)
states = [m.send(c) for c in "ab c.."]
assert states == ["a", "ab", "", "c", "", ""]
assert words == ["ab", "c"]
#-- wrong
class L:
    def send(self, c): return c.strip(" .")
def f(on_word): return L()

#== retry_decorator_with_fake_sleep
import functools
def f(times, sleep, on=(Exception,)):
    def deco(fn):
        @functools.wraps(fn)
        def run(*a, **k):
            for n in range(times):
                try:
                    return fn(*a, **k)
                except on:
                    if n + 1 == times:
                        raise
                    sleep(0.5 * 2 ** n)
        return run
    return deco
#-- canonical
def f(times, sleep, on=(Exception,)):
    def deco(fn):
        def run(*args, **kwargs):
            delay, left = 0.5, times
            while True:
                left -= 1
                try:
                    return fn(*args, **kwargs)
                except Exception as error:
                    if not left or not isinstance(error, on):
                        raise
                sleep(delay)
                delay += delay
        run.__name__ = fn.__name__
        return run
    return deco
#-- tests
slept, n = [], 0
@f(4, slept.append)
def flaky(x):
    global n
    n += 1
    if n < 3:
        raise OSError(n)
    return x + n
assert flaky(10) == 13
assert slept == [0.5, 1.0]
assert flaky.__name__ == "flaky"

slept = []
@f(3, slept.append, on=(ValueError,))
def picky(x):
    raise x
try:
    picky(KeyError("k"))
    e = None
except KeyError as error:
    e = error.args
assert e == ("k",) and slept == []
try:
    picky(ValueError("v"))
    e = None
except ValueError as error:
    e = error.args
assert e == ("v",) and slept == [0.5, 1.0]
#-- wrong
def f(times, sleep, on=(Exception,)):
    def deco(fn):
        def run(*a):
            try:
                return fn(*a)
            except Exception:
                sleep(1)
                return fn(*a)
        return run
    return deco

#== lru_with_eviction_callback
from collections import OrderedDict
class Lru:
    def __init__(self, size, on_evict): self.size, self.on_evict, self.d = size, on_evict, OrderedDict()
    def get(self, k, default=None):
        if k not in self.d:
            return default
        self.d.move_to_end(k)
        return self.d[k]
    def put(self, k, v):
        self.d[k] = v
        self.d.move_to_end(k)
        if len(self.d) > self.size:
            self.on_evict(*self.d.popitem(last=False))
def f(size, on_evict): return Lru(size, on_evict)
#-- canonical
class Lru:
    def __init__(self, size, on_evict):
        self.size, self.on_evict = size, on_evict
        self.values, self.ages, self.tick = {}, {}, 0
    def touch(self, k):
        self.tick += 1
        self.ages[k] = self.tick
    def get(self, k, default=None):
        if k in self.values:
            self.touch(k)
            return self.values[k]
        return default
    def put(self, k, v):
        self.values[k] = v
        self.touch(k)
        if len(self.values) > self.size:
            oldest = min(self.ages, key=self.ages.get)
            del self.ages[oldest]
            self.on_evict(oldest, self.values.pop(oldest))
def f(size, on_evict):
    return Lru(size, on_evict)
#-- tests
gone = []
c = f(2, lambda k, v: gone.append((k, v)))
c.put("a", 1)
c.put("b", 2)
assert c.get("a") == 1
c.put("c", 3)
assert gone == [("b", 2)]
assert c.get("b") is None and c.get("b", 0) == 0
c.put("a", 9)
c.put("d", 4)
assert gone == [("b", 2), ("c", 3)]
assert c.get("a") == 9
#-- wrong
class C(dict):
    def put(self, k, v): self[k] = v
def f(size, on_evict): return C()

#== parse_tokens_as_test_dataclasses
def f(tokens):
    out, stack = [], []
    top = out
    for t in tokens:
        if t.kind == "open":
            new = []
            top.append(new)
            stack.append(top)
            top = new
        elif t.kind == "close":
            if not stack:
                raise ValueError(f"unbalanced at {t.at}")
            top = stack.pop()
        else:
            top.append(t.text)
    return out
#-- canonical
def f(tokens):
    it = iter(tokens)
    def read(depth):
        items = []
        for t in it:
            match t.kind:
                case "open":
                    items.append(read(depth + 1))
                case "close":
                    if depth == 0:
                        raise ValueError("unbalanced at " + str(t.at))
                    return items
                case _:
                    items.append(t.text)
        return items
    return read(0)
#-- tests
from dataclasses import dataclass
@dataclass
class Token:
    kind: str
    text: str
    at: int
def lex(s):
    for i, c in enumerate(s):
        if c != " ":
            yield Token({"(": "open", ")": "close"}.get(c, "atom"), c, i)
assert f(lex("a (b (c) d) ()")) == ["a", ["b", ["c"], "d"], []]
try:
    f(list(lex("a) b")))
    e = None
except ValueError as error:
    e = str(error)
assert e == "unbalanced at 1"
#-- wrong
def f(tokens):
    return [t.text for t in tokens]

#== dec_context_of_the_test
from decimal import Decimal
def f(ctx, values):
    total = Decimal(0)
    for v in values:
        total = ctx.add(total, Decimal(v))
    return ctx.divide(total, Decimal(len(values)))
#-- canonical
import decimal
def f(ctx, values):
    with decimal.localcontext(ctx):
        return sum((decimal.Decimal(v) for v in values), decimal.Decimal(0)) / len(values)
#-- tests
import decimal
ctx = decimal.Context(prec=4)
assert str(f(ctx, ["1", "2", "2"])) == "1.667"

from decimal import Decimal, Context, ROUND_DOWN
f(Context(prec=3, rounding=ROUND_DOWN), ["2", "0", "0"]) == Decimal("0.666")

import decimal
str(f(decimal.Context(prec=2), ["1.25", "1.25"])) in ("1.2", "1.3")
#-- wrong
from decimal import Decimal
def f(ctx, values):
    return sum(map(Decimal, values)) / len(values)

#== tz_class_of_the_test
from datetime import timezone
def f(moment, zone):
    return moment.astimezone(zone).strftime("%Y-%m-%d %H:%M %Z")
#-- canonical
def f(moment, zone):
    local = moment.astimezone(zone)
    return f"{local:%Y-%m-%d %H:%M} {local.tzname()}"
#-- tests
from datetime import datetime, timedelta, timezone, tzinfo
class Half(tzinfo):
    def utcoffset(self, d): return timedelta(hours=5, minutes=30)
    def dst(self, d): return timedelta(0)
    def tzname(self, d): return "HALF"
f(datetime(2024, 2, 28, 20, 0, tzinfo=timezone.utc), Half()) == "2024-02-29 01:30 HALF"

from datetime import datetime, timedelta, timezone
f(datetime(2024, 1, 1, tzinfo=timezone.utc), timezone(timedelta(hours=-3), "BRT")) == "2023-12-31 21:00 BRT"
#-- wrong
def f(moment, zone):
    return moment.strftime("%Y-%m-%d %H:%M ") + "UTC"

#== path_class_of_the_solution
class Path:
    def __init__(self, *parts): self.parts = tuple(p for part in parts for p in str(part).split("/") if p)
    def __truediv__(self, o): return Path(*self.parts, o)
    def __rtruediv__(self, o): return Path(o, *self.parts)
    def __str__(self): return "/".join(self.parts)
    def __fspath__(self): return str(self)
    @property
    def parent(self): return Path(*self.parts[:-1])
    @property
    def suffix(self):
        stem, dot, ext = self.parts[-1].rpartition(".")
        return dot + ext if stem else ""
def f(text): return Path(text)
#-- canonical
import os, re
class Route(os.PathLike):
    def __init__(self, text): self.text = re.sub("/+", "/", text).strip("/")
    def __fspath__(self): return self.text
    def __str__(self): return self.text
    def __truediv__(self, other): return Route(f"{self.text}/{other}")
    def __rtruediv__(self, other): return Route(f"{other}/{self.text}")
    @property
    def parent(self): return Route(self.text.rpartition("/")[0])
    @property
    def suffix(self):
        m = re.search(r"[^/.](\.[^./]+)$", self.text)
        return m[1] if m else ""
def f(text):
    return Route(text)
#-- tests
p = f("a//b") / "c.txt"
assert str(p) == "a/b/c.txt"
assert p.suffix == ".txt" and f("a/.rc").suffix == ""
assert str(p.parent) == "a/b"
assert str("root" / p) == "root/a/b/c.txt"

import os
os.fspath(f("x") / f("y")) == "x/y"
#-- wrong
class Path(str):
    def __truediv__(self, o): return Path(self + o)
    parent = suffix = ""
def f(text): return Path(text)
