"""Programs that are handed objects of the test: callbacks, keys, comparators, streams, clocks, visitors, containers to change."""

#== handed_cb_on_each
def f(items, on):
    for i, v in enumerate(items):
        on(i, v)
#-- tests
log = []
f("abc", lambda i, v: log.append((i, v)))
log == [(0, "a"), (1, "b"), (2, "c")]
#-- wrong
def f(items, on):
    for i, v in enumerate(items):
        on(i + 1, v)

#== handed_cb_retry
def f(action, times):
    for attempt in range(times):
        try:
            return action(attempt)
        except ValueError:
            pass
    return None
#-- tests
def flaky(n):
    if n < 2:
        raise ValueError(n)
    return n * 10
f(flaky, 5) == 20

def always(n):
    raise ValueError
f(always, 3) is None

n = {"calls": 0}
def count(_):
    n["calls"] += 1
    raise ValueError
f(count, 4)
n == {"calls": 4}
#-- wrong
def f(action, times):
    return action(0)

#== handed_cb_once
def f(g):
    box = []
    def run(*a):
        if not box:
            box.append(g(*a))
        return box[0]
    return run
#-- tests
calls = []
def make(x):
    calls.append(x)
    return x * 2
o = f(make)
assert o(3) == 6
assert o(5) == 6
assert calls == [3]
#-- wrong
def f(g):
    return g

#== handed_cb_method_as_callback
def f(xs, cb):
    return [cb(x) for x in xs if cb(x)]
#-- tests
class Gate:
    def __init__(self, least):
        self.least = least
        self.calls = 0
    def check(self, x):
        self.calls += 1
        return x if x >= self.least else 0
g = Gate(3)
assert f([1, 3, 5], g.check) == [3, 5]
assert g.calls == 5
#-- wrong
def f(xs, cb):
    return [x for x in xs]

#== handed_cb_callback_that_raises
def f(xs, cb):
    done = 0
    try:
        for x in xs:
            cb(x)
            done += 1
    finally:
        xs.append(done)
#-- tests
def cb(x):
    if x == 3:
        raise KeyError("three")
data = [1, 2, 3, 4]
try:
    f(data, cb)
    r = "none"
except KeyError as e:
    r = e.args[0]
assert r == "three"
assert data == [1, 2, 3, 4, 2]
#-- wrong
def f(xs, cb):
    for x in list(xs):
        cb(x)

#== handed_cb_nested_callbacks
def f(step, n, done):
    if n == 0:
        return done()
    return step(n, lambda: f(step, n - 1, done))
#-- tests
trail = []
def step(n, go):
    trail.append(n)
    return go()
assert f(step, 3, lambda: "end") == "end"
assert trail == [3, 2, 1]
#-- wrong
def f(step, n, done):
    return done()

#== handed_key_attrgetter
def f(xs, key):
    return [key(x) for x in sorted(xs, key=key)]
#-- tests
from operator import attrgetter, itemgetter
class P:
    def __init__(self, age): self.age = age
f([P(3), P(1)], attrgetter("age")) == [1, 3]

from operator import itemgetter
f([{"k": 2}, {"k": 1}], itemgetter("k")) == [1, 2]
#-- wrong
def f(xs, key):
    return [key(x) for x in xs]

#== handed_key_max_by
def f(xs, key, default=None):
    return max(xs, key=key, default=default)
#-- tests
f(["a", "ccc", "bb"], len) == "ccc"

f([], len, "none") == "none"

class P:
    def __init__(self, n): self.n = n
ps = [P(3), P(9), P(4)]
f(ps, lambda p: p.n) is ps[1]
#-- wrong
def f(xs, key, default=None):
    return min(xs, key=key, default=default)

#== handed_key_bisect_key
import bisect
def f(xs, x, key):
    i = bisect.bisect_left(xs, key(x), key=key)
    return xs[:i] + [x] + xs[i:]
#-- tests
f(["a", "ccc"], "bb", len) == ["a", "bb", "ccc"]

f([5, 3, 1], 2, lambda v: -v) == [5, 3, 2, 1]
#-- wrong
def f(xs, x, key):
    return xs + [x]

#== handed_key_sort_in_place
def f(xs, key=None, reverse=False):
    xs.sort(key=key, reverse=reverse)
#-- tests
words = ["bb", "a", "ccc"]
f(words, key=len, reverse=True)
words == ["ccc", "bb", "a"]

xs = [3, 1, 2]
assert f(xs) is None
assert xs == [1, 2, 3]
#-- wrong
def f(xs, key=None, reverse=False):
    xs.sort()

#== handed_key_nested_key_objects
class Rev:
    def __init__(self, v): self.v = v
    def __lt__(self, other): return other.v < self.v
def f(xs, key):
    return sorted(xs, key=lambda x: Rev(key(x)))
#-- tests
f([1, 3, 2], lambda v: v) == [3, 2, 1]

f(["a", "bbb", "cc"], len) == ["bbb", "cc", "a"]
#-- wrong
def f(xs, key):
    return sorted(xs, key=key)

#== handed_cmp_to_key
import functools
def f(xs, cmp):
    return sorted(xs, key=functools.cmp_to_key(cmp))
#-- tests
f([3, 1, 2], lambda a, b: a - b) == [1, 2, 3]

f(["30", "3", "34"], lambda a, b: (a + b < b + a) - (a + b > b + a)) == ["34", "3", "30"]

def by_len(a, b):
    return len(a) - len(b)
f(["bb", "a"], by_len) == ["a", "bb"]
#-- wrong
def f(xs, cmp):
    return sorted(xs)

#== handed_cmp_merge_sort
def f(xs, cmp):
    if len(xs) < 2:
        return list(xs)
    m = len(xs) // 2
    a, b = f(xs[:m], cmp), f(xs[m:], cmp)
    out = []
    while a and b:
        out.append((a if cmp(a[0], b[0]) <= 0 else b).pop(0))
    return out + a + b
#-- tests
f([4, 2, 3, 1], lambda a, b: a - b) == [1, 2, 3, 4]

count = 0
def cmp(a, b):
    global count
    count += 1
    return b - a
assert f([1, 2, 3, 4], cmp) == [4, 3, 2, 1]
assert count == 4
#-- wrong
def f(xs, cmp):
    return list(xs)

#== handed_cmp_ordered_objects_of_the_test
def f(xs):
    xs = list(xs)
    for i in range(1, len(xs)):
        j = i
        while j and xs[j] < xs[j - 1]:
            xs[j], xs[j - 1] = xs[j - 1], xs[j]
            j -= 1
    return xs
#-- tests
import functools
@functools.total_ordering
class V:
    def __init__(self, *parts): self.parts = parts
    def __eq__(self, other): return self.parts == other.parts
    def __lt__(self, other): return self.parts < other.parts
a, b, c = V(1, 2), V(1, 10), V(0, 3)
r = f([a, b, c])
r[0] is c and r[1] is a and r[2] is b

f([3, 1, 2]) == [1, 2, 3]
#-- wrong
def f(xs):
    return list(xs)[::-1]

#== handed_stream_tee
def f(source, *sinks):
    for chunk in iter(lambda: source.read(2), ""):
        for s in sinks:
            s.write(chunk)
#-- tests
import io
a, b = io.StringIO(), io.StringIO()
f(io.StringIO("hello"), a, b)
a.getvalue() == b.getvalue() == "hello"
#-- wrong
def f(source, *sinks):
    sinks[0].write(source.read())

#== handed_stream_print_to
def f(rows, file):
    for r in rows:
        print(*r, sep=",", file=file)
#-- tests
import io
out = io.StringIO()
f([(1, 2), ("a", "b")], out)
out.getvalue() == "1,2\na,b\n"

class Fake:
    def __init__(self): self.parts = []
    def write(self, t): self.parts.append(t)
w = Fake()
f([(1, 2)], w)
"".join(w.parts) == "1,2\n"
#-- wrong
def f(rows, file):
    for r in rows:
        print(*r, file=file)

#== handed_stream_head
def f(stream, n):
    out = []
    for _ in range(n):
        line = stream.readline()
        if not line:
            break
        out.append(line.rstrip("\n"))
    return out
#-- tests
import io
s = io.StringIO("a\nb\nc\n")
assert f(s, 2) == ["a", "b"]
assert s.readline() == "c\n"
#-- wrong
def f(stream, n):
    return stream.read().split("\n")[:n]

#== handed_stream_fake_socket
def f(sock):
    sock.send(b"PING")
    data = b""
    while not data.endswith(b"\n"):
        part = sock.recv(3)
        if not part:
            break
        data += part
    sock.close()
    return data.decode()
#-- tests
class Sock:
    def __init__(self, reply):
        self.sent, self.reply, self.closed = [], reply, False
    def send(self, data):
        self.sent.append(data)
        return len(data)
    def recv(self, n):
        part, self.reply = self.reply[:n], self.reply[n:]
        return part
    def close(self):
        self.closed = True
s = Sock(b"PONG\n")
assert f(s) == "PONG\n"
assert s.sent == [b"PING"]
assert s.closed
#-- wrong
def f(sock):
    sock.send(b"PING")
    return sock.recv(100).decode()

#== handed_enum_parse
def f(cls, text):
    try:
        return cls[text.upper()]
    except KeyError:
        return cls(int(text))
#-- tests
import enum
class Side(enum.Enum):
    LEFT = 0
    RIGHT = 1
f(Side, "left") is Side.LEFT and f(Side, "1") is Side.RIGHT
#-- wrong
def f(cls, text):
    return cls(0)

#== handed_enum_flags
def f(flag, cls):
    return [m.name for m in cls if m & flag]
#-- tests
import enum
class P(enum.Flag):
    R = 4
    W = 2
    X = 1
f(P.R | P.X, P) == ["R", "X"]

import enum
class P(enum.IntFlag):
    A = 1
    B = 2
f(P.B, P) == ["B"]
#-- wrong
def f(flag, cls):
    return [m.name for m in cls]

#== handed_enum_transition
def f(state, event, table):
    return table.get((state, event), state)
#-- tests
import enum
class S(enum.Enum):
    ON = 1
    OFF = 2
class E(enum.Enum):
    PRESS = 1
    NONE = 2
t = {(S.ON, E.PRESS): S.OFF, (S.OFF, E.PRESS): S.ON}
f(S.ON, E.PRESS, t) is S.OFF and f(S.ON, E.NONE, t) is S.ON
#-- wrong
def f(state, event, table):
    return state

#== handed_enum_method_of_the_tests
def f(planets):
    return sorted(planets, key=lambda p: p.gravity())
#-- tests
import enum
class Planet(enum.Enum):
    A = (2.0, 1.0)
    B = (1.0, 1.0)
    def __init__(self, mass, radius):
        self.mass, self.radius = mass, radius
    def gravity(self):
        return self.mass / self.radius ** 2
f(list(Planet)) == [Planet.B, Planet.A]
#-- wrong
def f(planets):
    return list(planets)

#== handed_clock_ttl_cache
def f(compute, ttl, clock):
    store = {}
    def get(k):
        t = clock()
        if k in store and t - store[k][1] < ttl:
            return store[k][0]
        store[k] = (compute(k), t)
        return store[k][0]
    return get
#-- tests
class Clock:
    t = 0
    def __call__(self): return self.t
clock, calls = Clock(), []
def compute(k):
    calls.append(k)
    return k * 2
get = f(compute, 10, clock)
assert get(3) == 6
clock.t = 5
assert get(3) == 6
assert calls == [3]
clock.t = 11
assert get(3) == 6
assert calls == [3, 3]
#-- wrong
def f(compute, ttl, clock):
    return compute

#== handed_clock_rate_limiter
class R:
    def __init__(self, n, per, clock): self.n, self.per, self.clock, self.log = n, per, clock, []
    def allow(self):
        t = self.clock.now_s()
        self.log = [x for x in self.log if t - x < self.per]
        if len(self.log) < self.n:
            self.log.append(t)
            return True
        return False
def f(n, per, clock): return R(n, per, clock)
#-- tests
class Fake:
    def __init__(self): self.t = 0.0
    def now_s(self): return self.t
    def advance(self, d): self.t += d
c = Fake()
r = f(2, 10, c)
assert [r.allow(), r.allow(), r.allow()] == [True, True, False]
c.advance(10)
assert r.allow() is True
#-- wrong
class R:
    def allow(self): return True
def f(n, per, clock): return R()

#== handed_clock_scheduler
import heapq
class S:
    def __init__(self): self.q, self.n = [], 0
    def at(self, t, job):
        heapq.heappush(self.q, (t, self.n, job)); self.n += 1
    def run(self, until):
        while self.q and self.q[0][0] <= until:
            t, _, job = heapq.heappop(self.q)
            job(t)
def f(): return S()
#-- tests
s, log = f(), []
s.at(5, lambda t: log.append(("b", t)))
s.at(1, lambda t: log.append(("a", t)))
s.at(9, lambda t: log.append(("c", t)))
s.run(6)
assert log == [("a", 1), ("b", 5)]
#-- wrong
class S:
    def __init__(self): self.q = []
    def at(self, t, job): self.q.append((t, job))
    def run(self, until):
        for t, job in self.q: job(t)
def f(): return S()

#== handed_di_repository
class Service:
    def __init__(self, repo, mailer): self.repo, self.mailer = repo, mailer
    def register(self, name):
        if self.repo.find(name):
            raise ValueError("taken")
        user = self.repo.add(name)
        self.mailer.send(name, f"Welcome {name}")
        return user
def f(repo, mailer): return Service(repo, mailer)
#-- tests
class Repo:
    def __init__(self): self.rows = {}
    def find(self, n): return self.rows.get(n)
    def add(self, n):
        self.rows[n] = {"id": len(self.rows) + 1, "name": n}
        return self.rows[n]
class Mailer:
    def __init__(self): self.sent = []
    def send(self, to, text): self.sent.append((to, text))
repo, mailer = Repo(), Mailer()
s = f(repo, mailer)
assert s.register("ann") == {"id": 1, "name": "ann"}
assert mailer.sent == [("ann", "Welcome ann")]
try:
    s.register("ann")
    r = None
except ValueError as e:
    r = str(e)
assert r == "taken"
assert list(repo.rows) == ["ann"]
#-- wrong
class Service:
    def __init__(self, repo, mailer): self.repo = repo
    def register(self, name): return self.repo.add(name)
def f(repo, mailer): return Service(repo, mailer)

#== handed_di_writes_attribute
def f(p, dx, dy):
    p.x += dx
    p.y += dy
#-- tests
class P:
    def __init__(self, x, y): self.x, self.y = x, y
p = P(1, 2)
f(p, 3, 4)
assert (p.x, p.y) == (4, 6)
f(p, 1, 0)
assert (p.x, p.y) == (5, 6)
#-- wrong
def f(p, dx, dy):
    p.x += dx

#== handed_di_factory
def f(factory, names):
    return [factory(n) for n in names]
#-- tests
class W:
    count = 0
    def __init__(self, n):
        self.n = n
        W.count += 1
ws = f(W, ["a", "b"])
assert [w.n for w in ws] == ["a", "b"]
assert W.count == 2

f(str.upper, ["a"]) == ["A"]

import collections
P = collections.namedtuple("P", "x")
f(P, [1, 2]) == [P(1), P(2)]
#-- wrong
def f(factory, names):
    return [factory(names[0])]

#== handed_visitor_expr
class Num:
    def __init__(self, v): self.v = v
    def accept(self, vis): return vis.num(self)
class Add:
    def __init__(self, a, b): self.a, self.b = a, b
    def accept(self, vis): return vis.add(self)
def f(t):
    return Num(t) if isinstance(t, int) else Add(f(t[0]), f(t[1]))
#-- tests
class Eval:
    def num(self, n): return n.v
    def add(self, n): return n.a.accept(self) + n.b.accept(self)
f((1, (2, 3))).accept(Eval()) == 6

class Show:
    def num(self, n): return str(n.v)
    def add(self, n): return "(" + n.a.accept(self) + "+" + n.b.accept(self) + ")"
f((1, (2, 3))).accept(Show()) == "(1+(2+3))"
#-- wrong
class Num:
    def __init__(self, v): self.v = v
    def accept(self, vis): return vis.num(self)
def f(t):
    return Num(t if isinstance(t, int) else 0)

#== handed_visitor_dispatch_by_name
def f(nodes, visitor):
    return [getattr(visitor, "visit_" + n["type"])(n) for n in nodes]
#-- tests
class V:
    def visit_a(self, n): return n["x"]
    def visit_b(self, n): return -n["x"]
f([{"type": "a", "x": 1}, {"type": "b", "x": 2}], V()) == [1, -2]
#-- wrong
def f(nodes, visitor):
    return [n["x"] for n in nodes]

#== handed_observer_detach_during_emit
class Bus:
    def __init__(self): self.h = {}
    def on(self, e, fn):
        self.h.setdefault(e, []).append(fn)
        return lambda: self.h[e].remove(fn)
    def emit(self, e, *a):
        return [fn(*a) for fn in list(self.h.get(e, ()))]
def f(): return Bus()
#-- tests
bus, log = f(), []
off = bus.on("x", lambda v: log.append(v))
bus.on("x", lambda v: off())
bus.emit("x", 1)
bus.emit("x", 2) if False else None
assert log == [1]

bus = f()
bus.on("y", lambda a, b: a + b)
assert bus.emit("y", 2, 3) == [5]
assert bus.emit("z") == []
#-- wrong
class Bus:
    def on(self, e, fn): return lambda: None
    def emit(self, e, *a): return []
def f(): return Bus()

#== handed_observer_property_changed
class Model:
    def __init__(self, on_change):
        object.__setattr__(self, "_on", on_change)
    def __setattr__(self, k, v):
        old = self.__dict__.get(k)
        object.__setattr__(self, k, v)
        if old != v: self._on(k, old, v)
def f(on): return Model(on)
#-- tests
log = []
m = f(lambda *a: log.append(a))
m.x = 1
m.x = 1
m.x = 2
assert log == [("x", None, 1), ("x", 1, 2)]
assert m.x == 2
#-- wrong
class Model:
    def __init__(self, on): pass
def f(on): return Model(on)

#== handed_memo_grid_paths
def f(r, c, cache):
    if r == 1 or c == 1: return 1
    if (r, c) not in cache:
        cache[r, c] = f(r - 1, c, cache) + f(r, c - 1, cache)
    return cache[r, c]
#-- tests
cache = {}
assert f(3, 3, cache) == 6
assert cache == {(2, 2): 2, (3, 2): 3, (2, 3): 3, (3, 3): 6}
#-- wrong
def f(r, c, cache):
    return r * c

#== handed_memo_test_cache_class
def f(cache, key, make):
    v = cache.get(key)
    if v is None:
        v = make(key)
        cache.put(key, v)
    return v
#-- tests
class Cache:
    def __init__(self): self.d, self.hits = {}, 0
    def get(self, k):
        if k in self.d:
            self.hits += 1
            return self.d[k]
    def put(self, k, v): self.d[k] = v
c = Cache()
assert f(c, "a", str.upper) == "A"
assert f(c, "a", str.upper) == "A"
assert c.hits == 1
assert c.d == {"a": "A"}
#-- wrong
def f(cache, key, make):
    return make(key)

#== handed_acc_stack_object
def f(tokens, stack):
    for t in tokens:
        if t in "+*":
            b, a = stack.pop(), stack.pop()
            stack.push(a + b if t == "+" else a * b)
        else:
            stack.push(int(t))
    return stack.pop()
#-- tests
class Stack:
    def __init__(self): self.items, self.most = [], 0
    def push(self, v):
        self.items.append(v)
        self.most = max(self.most, len(self.items))
    def pop(self): return self.items.pop()
s = Stack()
assert f("2 3 4 * +".split(), s) == 14
assert s.items == []
assert s.most == 3
#-- wrong
def f(tokens, stack):
    return int(tokens[0])

#== handed_acc_global_total_of_the_test
def f(xs, add):
    for x in xs: add(x)
#-- tests
total = 0
def add(x):
    global total
    total += x
f([1, 2, 3], add)
total == 6
#-- wrong
def f(xs, add):
    add(len(xs))

#== handed_ctx_uses_tests_context
def f(ctx, action):
    with ctx as value:
        return action(value)
#-- tests
log = []
class C:
    def __enter__(self):
        log.append("in")
        return 5
    def __exit__(self, t, v, tb):
        log.append(t.__name__ if t else "out")
        return t is KeyError
assert f(C(), lambda v: v + 1) == 6
def bad(v): raise KeyError(v)
assert f(C(), bad) is None
assert log == ["in", "out", "in", "KeyError"]
#-- wrong
def f(ctx, action):
    return action(5)

#== handed_gen_drives_tests_coroutine
def f(co, values):
    next(co)
    out = [co.send(v) for v in values]
    co.close()
    return out
#-- tests
def avg():
    n = s = 0
    a = None
    while True:
        s += yield a
        n += 1
        a = s / n
f(avg(), [2, 4, 9]) == [2.0, 3.0, 5.0]
#-- wrong
def f(co, values):
    return list(values)

#== handed_gen_peekable
class Peek:
    def __init__(self, it): self.it, self.buf = iter(it), []
    def __iter__(self): return self
    def __next__(self): return self.buf.pop() if self.buf else next(self.it)
    def peek(self):
        if not self.buf: self.buf.append(next(self.it))
        return self.buf[0]
def f(it): return Peek(it)
#-- tests
p = f(iter([1, 2, 3]))
assert p.peek() == 1
assert next(p) == 1
assert list(p) == [2, 3]
#-- wrong
class Peek:
    def __init__(self, it): self.it = iter(it)
    def __iter__(self): return self.it
    def __next__(self): return next(self.it)
    def peek(self): return next(self.it)
def f(it): return Peek(it)

#== handed_async_semaphore
import asyncio
async def f(jobs, limit):
    sem = asyncio.Semaphore(limit)
    async def run(j):
        async with sem:
            return await j()
    return await asyncio.gather(*map(run, jobs))
#-- tests
import asyncio
state = {"now": 0, "most": 0}
def job(n):
    async def go():
        state["now"] += 1
        state["most"] = max(state["most"], state["now"])
        await asyncio.sleep(0)
        state["now"] -= 1
        return n
    return go
assert asyncio.run(f([job(k) for k in range(5)], 2)) == [0, 1, 2, 3, 4]
assert state["most"] == 2
#-- wrong
import asyncio
async def f(jobs, limit):
    return await asyncio.gather(*(j() for j in jobs))

#== handed_ut_setup_objects
class Cart:
    def __init__(self, prices): self.prices, self.items = prices, []
    def add(self, n): self.items.append(n); return self
    def total(self): return sum(self.prices[i] for i in self.items)
def f(p): return Cart(p)
#-- tests
import unittest
class T(unittest.TestCase):
    def setUp(self):
        self.prices = {"a": 2, "b": 5}
        self.cart = f(self.prices)
    def test_total(self): self.assertEqual(self.cart.add("a").add("b").total(), 7)
    def test_live_prices(self):
        self.cart.add("a")
        self.prices["a"] = 9
        self.assertEqual(self.cart.total(), 9)
    def test_unknown(self):
        self.cart.add("z")
        self.assertRaises(KeyError, self.cart.total)
r = unittest.TestResult()
unittest.defaultTestLoader.loadTestsFromTestCase(T).run(r)
assert r.testsRun == 3 and r.wasSuccessful(), r.failures + r.errors
#-- wrong
class Cart:
    def __init__(self, prices): self.p = dict(prices); self.items = []
    def add(self, n): self.items.append(n); return self
    def total(self): return len(self.items)
def f(p): return Cart(p)

#== handed_np_out_parameter | needs numpy
import numpy as np
def f(a, b, out):
    np.add(a, b, out=out)
    return out
#-- tests
import numpy as np
out = np.zeros(2)
r = f(np.ones(2), np.ones(2), out)
assert out.tolist() == [2.0, 2.0]
assert np.array_equal(r, out)
#-- wrong
import numpy as np
def f(a, b, out):
    return a + b

#== handed_inplace_sort_merge_3
def f(a):
    if len(a)>1:
        l,r=a[:len(a)//2],a[len(a)//2:]
        f(l); f(r); a.clear()
        while l and r: a.append((l if l[0]<=r[0] else r).pop(0))
        a.extend(l+r)
#-- canonical
def f(a):
    a.sort()
#-- tests
import random
rows = [[random.randint(0, 9) for _ in range(6)] for _ in range(5)]
for r in rows:
    w = sorted(r)
    f(r)
    assert r == w
#-- wrong
def f(a):
    pass

#== handed_inplace_tree_invert_1
def f(a):
    if a:
        a.left,a.right=f(a.right),f(a.left)
    return a
#-- canonical
def f(a):
    if a:
        a.left,a.right=f(a.right),f(a.left)
    return a
#-- tests
class T:
    def __init__(self, v, left=None, right=None): self.v, self.left, self.right = v, left, right
def show(t): return t and (t.v, show(t.left), show(t.right))
assert show(f(T(1, T(2, T(4))))) == (1, None, (2, None, (4, None, None)))
#-- wrong
def f(a):
    return None

#== handed_inplace_linked_reverse_1
def f(a):
    p=None
    while a: a.next,p,a=p,a,a.next
    return p
#-- canonical
def f(a):
    p=None
    while a: a.next,p,a=p,a,a.next
    return p
#-- tests
class N:
    def __init__(self, v, next=None): self.v, self.next = v, next
a = N(1)
b = N(2, a)
assert f(b) is a
assert a.next is b and b.next is None
#-- wrong
def f(a):
    return None

#== handed_inplace_graph_bfs_marks_0
def f(a):
    q=[a]; a.dist=0
    for n in q:
        for m in n.links:
            if m.dist is None: m.dist=n.dist+1; q.append(m)
#-- canonical
def f(a):
    q=[a]; a.dist=0
    for n in q:
        for m in n.links:
            if m.dist is None: m.dist=n.dist+1; q.append(m)
#-- tests
class G:
    def __init__(self): self.links, self.dist = [], None
a, b, c = G(), G(), G()
a.links = [b]
b.links = [c, a]
f(a)
assert (a.dist, b.dist, c.dist) == (0, 1, 2)
#-- wrong
def f(a):
    return None

#== handed_inplace_next_permutation_2
def f(a):
    i=len(a)-2
    while i>=0 and a[i]>=a[i+1]: i-=1
    if i>=0:
        j=len(a)-1
        while a[j]<=a[i]: j-=1
        a[i],a[j]=a[j],a[i]
    a[i+1:]=a[i+1:][::-1]
#-- canonical
def f(a):
    i=len(a)-2
    while i>=0 and a[i]>=a[i+1]: i-=1
    if i>=0:
        j=len(a)-1
        while a[j]<=a[i]: j-=1
        a[i],a[j]=a[j],a[i]
    a[i+1:]=a[i+1:][::-1]
#-- tests
import itertools
a = [1, 2, 3]
for p in itertools.permutations([1, 2, 3]):
    assert tuple(a) == p
    f(a)
#-- wrong
def f(a):
    return None
