"""Iterators, generators, context managers, coroutines."""

#== generator_of_squares
def f(n):
    for k in range(n):
        yield k * k
#-- canonical
def f(n):
    return iter([k * k for k in range(n)])
#-- tests
list(f(3)) == [0, 1, 4]

g = f(2)
next(g) == 0 and next(g) == 1 and next(g, "end") == "end"

sum(f(4)) == 14 and max(f(3)) == 4

iter(g := f(1)) is g

try:
    next(f(0))
    r = "item"
except StopIteration:
    r = "stop"
r == "stop"
#-- wrong
def f(n):
    for k in range(n):
        yield k + k

#== generator_where_a_list_was_right
def f(xs):
    return (x + 1 for x in xs)
#-- canonical
def f(xs):
    return [x + 1 for x in xs]
#-- tests
list(f([1, 2])) == [2, 3]

sorted(f([3, 1])) == [2, 4]

2 in f([1])
#-- wrong
def f(xs):
    return (x for x in xs)

#== generator_against_a_list
def f(xs):
    return (x + 1 for x in xs)
#-- canonical
def f(xs):
    return (x + 1 for x in xs)
#-- tests
f([1]) != [2]

next(f([1])) == 2
#-- wrong
def f(xs):
    return [x + 1 for x in xs]

#== generator_with_send
def f():
    total = 0
    while True:
        got = yield total
        if got is None:
            return
        total += got
#-- tests
g = f()
next(g)
[g.send(2), g.send(3)] == [2, 5]

g = f()
next(g)
try:
    g.send(None)
    r = "item"
except StopIteration:
    r = "stop"
r == "stop"

g = f()
next(g)
g.close()
list(g) == []
#-- wrong
def f():
    total = 0
    while True:
        got = yield total
        total = got or 0

#== generator_throw_and_return
def f(log):
    try:
        while True:
            try:
                yield len(log)
            except ValueError as error:
                log.append(str(error))
    finally:
        log.append("closed")
#-- tests
log = []
g = f(log)
next(g)
g.throw(ValueError("bad"))
g.close()
log == ["bad", "closed"]

g = f([])
next(g)
try:
    g.throw(KeyError("k"))
    r = None
except KeyError as error:
    r = error.args
r == ("k",)
#-- wrong
def f(log):
    while True:
        try:
            yield len(log)
        except ValueError as error:
            log.append(str(error))

#== generator_return_value
def f(n):
    def inner():
        yield from range(n)
        return n * 10
    got = yield from inner()
    return got + 1
#-- tests
g = f(2)
items = []
try:
    while True:
        items.append(next(g))
except StopIteration as stop:
    value = stop.value
(items, value) == ([0, 1], 21)

def outer():
    r = yield from f(1)
    yield r
list(outer()) == [0, 11]
#-- wrong
def f(n):
    yield from range(n)
    return n

#== iterator_class
class Countdown:
    def __init__(self, n):
        self.n = n
    def __iter__(self):
        return self
    def __next__(self):
        if self.n <= 0:
            raise StopIteration
        self.n -= 1
        return self.n + 1
    def __length_hint__(self):
        return self.n
def f(n):
    return Countdown(n)
#-- canonical
def f(n):
    return iter(range(n, 0, -1))
#-- tests
list(f(3)) == [3, 2, 1]

it = f(2)
next(it)
list(it) == [1] and list(it) == []

[a + b for a, b in zip(f(2), f(2))] == [4, 2]

import itertools
list(itertools.islice(f(9), 2)) == [9, 8]

dict(enumerate(f(2))) == {0: 2, 1: 1}
#-- wrong
def f(n):
    return iter(range(n))

#== iterables_by_getitem
class Doubled:
    def __init__(self, xs):
        self.xs = xs
    def __getitem__(self, i):
        return self.xs[i] * 2
    def __len__(self):
        return len(self.xs)
def f(*xs):
    return Doubled(xs)
#-- tests
list(f(1, 2)) == [2, 4] and 4 in f(1, 2)

list(reversed(f(1, 2))) == [4, 2] and len(f(7)) == 1

f(1, 2, 3)[1:] == (2, 3, 2, 3)

a, b = f(5, 6)
(a, b) == (10, 12)
#-- wrong
class Doubled(tuple):
    pass
def f(*xs):
    return Doubled(xs)

#== itertools_objects
import itertools
def f(xs):
    return itertools.accumulate(xs), itertools.cycle(xs), itertools.groupby(xs)
#-- tests
list(f([1, 2, 3])[0]) == [1, 3, 6]

c = f("ab")[1]
[next(c) for _ in range(5)] == list("ababa")

[(k, len(list(g))) for k, g in f("aab")[2]] == [("a", 2), ("b", 1)]

import itertools
list(itertools.chain(f([1, 2])[0], [9])) == [1, 3, 9]
#-- wrong
import itertools
def f(xs):
    return iter(xs), itertools.cycle(reversed(xs)), itertools.groupby(xs)

#== infinite_generator
def f():
    a, b = 0, 1
    while True:
        yield a
        a, b = b, a + b
#-- canonical
import itertools
def f():
    made = [0, 1]
    for i in itertools.count():
        yield made[i]
        made.append(made[-1] + made[-2])
#-- tests
import itertools
list(itertools.islice(f(), 7)) == [0, 1, 1, 2, 3, 5, 8]

next(v for v in f() if v > 1000) == 1597

r = []
for v in f():
    if v > 10:
        break
    r.append(v)
r == [0, 1, 1, 2, 3, 5, 8]
#-- wrong
def f():
    a, b = 1, 1
    while True:
        yield a
        a, b = b, a + b

#== reads_the_tests_iterator_lazily
def f(source):
    for item in source:
        yield item * 2
#-- tests
seen = []
def numbers():
    for k in range(9):
        seen.append(k)
        yield k
g = f(numbers())
next(g), next(g)
seen == [0, 1]

import itertools
list(itertools.islice(f(itertools.count(1)), 3)) == [2, 4, 6]

it = iter([1, 2, 3])
next(f(it))
list(it) == [2, 3]
#-- wrong
def f(source):
    import itertools
    for item in list(itertools.islice(source, 100)):
        yield item * 2

#== map_filter_zip_objects
def f(xs):
    return map(str, xs), filter(None, xs), zip(xs, xs[1:])
#-- tests
list(f([1, 2])[0]) == ["1", "2"]

list(f([0, 3])[1]) == [3]

dict(f([1, 2, 3])[2]) == {1: 2, 2: 3}

m = f([1, 2])[0]
next(m) == "1" and list(m) == ["2"]
#-- wrong
def f(xs):
    return map(repr, map(str, xs)), filter(None, xs), zip(xs, xs)

#== context_manager_class
class Recorder:
    def __init__(self, log):
        self.log = log
    def __enter__(self):
        self.log.append("enter")
        return self
    def __exit__(self, kind, error, trace):
        self.log.append(kind.__name__ if kind else "exit")
        return False
def f(log):
    return Recorder(log)
#-- tests
log = []
with f(log):
    log.append("body")
log == ["enter", "body", "exit"]

log = []
try:
    with f(log) as r:
        raise KeyError("k")
except KeyError:
    log.append("out")
log == ["enter", "KeyError", "out"]
#-- wrong
class Recorder:
    def __init__(self, log):
        self.log = log
    def __enter__(self):
        self.log.append("enter")
    def __exit__(self, kind, error, trace):
        self.log.append("exit")
def f(log):
    return Recorder(log)

#== context_manager_that_suppresses
class Ignoring:
    def __init__(self, *kinds):
        self.kinds = kinds
        self.caught = None
    def __enter__(self):
        return self
    def __exit__(self, kind, error, trace):
        self.caught = error
        return kind is not None and issubclass(kind, self.kinds)
def f(*kinds):
    return Ignoring(*kinds)
#-- tests
with f(ValueError) as c:
    raise ValueError("x")
str(c.caught) == "x"

with f(ZeroDivisionError):
    1 / 0
r = "after"
r == "after"

try:
    with f(ValueError):
        raise KeyError(1)
    r = "suppressed"
except KeyError:
    r = "raised"
r == "raised"
#-- wrong
class Ignoring:
    caught = None
    def __enter__(self):
        return self
    def __exit__(self, kind, error, trace):
        self.caught = error
        return True
def f(*kinds):
    return Ignoring()

#== context_manager_by_generator
from contextlib import contextmanager
@contextmanager
def f(d, key, value):
    before = d.get(key)
    d[key] = value
    try:
        yield d
    finally:
        d[key] = before
#-- tests
d = {"a": 1}
with f(d, "a", 2) as inside:
    r = inside["a"]
(r, d) == (2, {"a": 1})

d = {"a": 1}
try:
    with f(d, "a", 5):
        raise RuntimeError
except RuntimeError:
    pass
d["a"] == 1
#-- wrong
from contextlib import contextmanager
@contextmanager
def f(d, key, value):
    yield {**d, key: value}
    d[key] = value

#== context_manager_by_generator_that_suppresses
import contextlib
@contextlib.contextmanager
def f(errors):
    try:
        yield
    except ValueError as error:
        errors.append(error.args[0])
#-- tests
e = []
with f(e):
    raise ValueError("first")
with f(e):
    pass
e == ["first"]

e = []
try:
    with f(e):
        raise TypeError("t")
    r = 0
except TypeError as error:
    r = str(error)
(r, e) == ("t", [])
#-- wrong
import contextlib
@contextlib.contextmanager
def f(errors):
    try:
        yield
    except Exception as error:
        errors.append(error.args[0])

#== exit_stack
from contextlib import ExitStack
def f(log, names):
    stack = ExitStack()
    for name in names:
        stack.callback(log.append, name)
    return stack
#-- tests
log = []
with f(log, "ab"):
    log.append("body")
log == ["body", "b", "a"]

log = []
f(log, "xy").close()
log == ["y", "x"]
#-- wrong
from contextlib import ExitStack
def f(log, names):
    stack = ExitStack()
    for name in reversed(names):
        stack.callback(log.append, name)
    return stack

#== context_manager_of_the_test
def f(manager, work):
    with manager as value:
        return work(value)
#-- tests
class M:
    def __init__(self):
        self.log = []
    def __enter__(self):
        self.log.append("in")
        return 5
    def __exit__(self, *a):
        self.log.append("out")
m = M()
f(m, lambda v: v + 1) == 6 and m.log == ["in", "out"]
#-- wrong
def f(manager, work):
    return work(manager.__enter__())

#== coroutine
import asyncio
async def f(x):
    await asyncio.sleep(0)
    return x + 1
#-- tests
import asyncio
asyncio.run(f(1)) == 2

import asyncio
async def main():
    return await asyncio.gather(f(1), f(2), f(3))
asyncio.run(main()) == [2, 3, 4]

import asyncio
async def test():
    assert await f(5) == 6
    assert await f(0) == 1
asyncio.run(test())
assert True

import asyncio
asyncio.iscoroutine(c := f(1)) and (c.close() is None)
#-- wrong
import asyncio
async def f(x):
    await asyncio.sleep(0)
    return x

#== async_iteration
import asyncio
class Ticker:
    def __init__(self, n):
        self.n = n
        self.i = 0
    def __aiter__(self):
        return self
    async def __anext__(self):
        if self.i >= self.n:
            raise StopAsyncIteration
        self.i += 1
        await asyncio.sleep(0)
        return self.i
def f(n):
    return Ticker(n)
#-- canonical
import asyncio
async def f(n):
    for k in range(1, n + 1):
        await asyncio.sleep(0)
        yield k
#-- tests
import asyncio
async def main():
    return [v async for v in f(3)]
asyncio.run(main()) == [1, 2, 3]

import asyncio
async def main():
    total = 0
    async for v in f(4):
        total += v
    return total
asyncio.run(main()) == 10
#-- wrong
import asyncio
async def f(n):
    for k in range(n):
        yield k

#== async_context_manager
import asyncio
from contextlib import asynccontextmanager
@asynccontextmanager
async def f(log):
    log.append("open")
    await asyncio.sleep(0)
    try:
        yield len(log)
    finally:
        log.append("close")
#-- tests
import asyncio
async def main():
    log = []
    async with f(log) as n:
        log.append(n)
    return log
asyncio.run(main()) == ["open", 1, "close"]
#-- wrong
from contextlib import asynccontextmanager
@asynccontextmanager
async def f(log):
    yield 1
    log.append("close")

#== async_with_callbacks_and_limits
import asyncio
async def f(jobs, limit):
    gate = asyncio.Semaphore(limit)
    running = most = 0
    async def one(job):
        nonlocal running, most
        async with gate:
            running += 1
            most = max(most, running)
            try:
                return await job()
            finally:
                running -= 1
    return await asyncio.gather(*map(one, jobs)), most
#-- tests
import asyncio
async def job():
    await asyncio.sleep(0.001)
    return 7
asyncio.run(f([job] * 5, 2)) == ([7] * 5, 2)

import asyncio
async def fails():
    raise ValueError("no")
try:
    asyncio.run(f([fails], 1))
    r = None
except ValueError as error:
    r = str(error)
r == "no"
#-- wrong
import asyncio
async def f(jobs, limit):
    return [await job() for job in jobs], 1

#== async_queue_and_tasks
import asyncio
async def f(n):
    queue = asyncio.Queue(maxsize=2)
    got = []
    async def put():
        for k in range(n):
            await queue.put(k)
        await queue.put(None)
    async def take():
        while (item := await queue.get()) is not None:
            got.append(item)
    await asyncio.gather(put(), take())
    return got
#-- tests
import asyncio
asyncio.run(f(5)) == [0, 1, 2, 3, 4]

import asyncio
async def main():
    task = asyncio.create_task(f(2))
    return await asyncio.wait_for(task, 5)
asyncio.run(main()) == [0, 1]
#-- wrong
async def f(n):
    return list(range(1, n))

#== async_timeout_in_the_solution
import asyncio
async def f(seconds, limit):
    try:
        await asyncio.wait_for(asyncio.sleep(seconds), limit)
        return "done"
    except asyncio.TimeoutError:
        return "late"
#-- tests
import asyncio
asyncio.run(f(0, 1)) == "done"

import asyncio
asyncio.run(f(5, 0.01)) == "late"
#-- wrong
async def f(seconds, limit):
    return "done"

#== sync_function_that_runs_a_loop
import asyncio
def f(xs):
    async def double(x):
        await asyncio.sleep(0)
        return 2 * x
    async def main():
        return await asyncio.gather(*map(double, xs))
    return asyncio.run(main())
#-- canonical
def f(xs):
    return [2 * x for x in xs]
#-- tests
f([1, 2]) == [2, 4]

f([]) == [] and f([5])[0] == 10
#-- wrong
import asyncio
def f(xs):
    async def main():
        return [x + 1 for x in xs]
    return asyncio.run(main())

#== awaitable_class
class Later:
    def __init__(self, value):
        self.value = value
    def __await__(self):
        yield from ()
        return self.value
def f(value):
    return Later(value)
#-- tests
import asyncio
async def main():
    return await f(4) + await f(5)
asyncio.run(main()) == 9
#-- wrong
class Later:
    def __init__(self, value):
        self.value = value
    def __await__(self):
        yield from ()
def f(value):
    return Later(value)

#== generator_pipeline_with_two_sides
def f(source, keep):
    def numbers():
        for line in source:
            yield from map(int, line.split())
    return filter(keep, numbers())
#-- tests
list(f(["1 2", "3"], lambda v: v != 2)) == [1, 3]

import io
sum(f(io.StringIO("1 2\n3\n"), lambda v: True)) == 6
#-- wrong
def f(source, keep):
    return (int(v) for line in source for v in line.split() if not keep(int(v)))
