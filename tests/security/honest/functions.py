"""Closures, decorators, callbacks, and arguments that outlive a call."""

#== memoize_decorator
def f(function):
    known = {}
    def inner(*args):
        if args not in known:
            known[args] = function(*args)
        return known[args]
    inner.known = known
    return inner
#-- tests
@f
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)
fib(30) == 832040

@f
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)
fib(150) == 9969216677189303386214405760200

calls = []
@f
def g(x):
    calls.append(x)
    return x * x
(g(3), g(3), g(4), calls) == (9, 9, 16, [3, 4])

@f
def h(x):
    return x
h(1)
(1,) in h.known
#-- wrong
def f(function):
    known = {}
    def inner(*args):
        if args not in known:
            known[args] = function(*args) + 1
        return known[args]
    inner.known = known
    return inner

#== decorator_with_wraps
import functools
def f(times):
    def decorate(function):
        @functools.wraps(function)
        def inner(*args, **kwargs):
            return [function(*args, **kwargs) for _ in range(times)]
        return inner
    return decorate
#-- tests
@f(3)
def one(x, *, y=0):
    "Doc of one."
    return x + y
one(1, y=2) == [3, 3, 3] and one.__name__ == "one" and one.__doc__ == "Doc of one."

@f(1)
def two():
    return 2
two.__wrapped__() == 2
#-- wrong
def f(times):
    def decorate(function):
        def inner(*args, **kwargs):
            return [function(*args, **kwargs)] * times
        return inner
    return decorate

#== retry_decorator
def f(attempts, kinds):
    def decorate(function):
        def inner(*args):
            for left in reversed(range(attempts)):
                try:
                    return function(*args)
                except kinds:
                    if not left:
                        raise
        return inner
    return decorate
#-- tests
tries = []
@f(3, (ValueError,))
def flaky():
    tries.append(1)
    if len(tries) < 3:
        raise ValueError("again")
    return "ok"
flaky() == "ok" and len(tries) == 3

@f(2, (KeyError,))
def bad():
    raise KeyError("k")
try:
    bad()
    r = None
except KeyError as e:
    r = e.args[0]
r == "k"

@f(5, (ValueError,))
def other():
    raise TypeError("no")
try:
    other()
except TypeError as e:
    r = str(e)
r == "no"
#-- wrong
def f(attempts, kinds):
    def decorate(function):
        def inner(*args):
            for _ in range(attempts):
                try:
                    return function(*args)
                except Exception:
                    pass
        return inner
    return decorate

#== closures_over_arguments
def f(items):
    def add(x):
        items.append(x)
        return len(items)
    def get():
        return items
    return add, get
#-- tests
xs = [1]
add, get = f(xs)
(add(5), get()) == (2, [1, 5])

xs = [1]
add, get = f(xs)
xs.append(9)
get() == [1, 9]

xs = []
add, get = f(xs)
add(3)
xs == [3]

xs = []
f(xs)[1]() is xs
#-- wrong
def f(items):
    items = list(items)
    def add(x):
        items.append(x)
        return len(items)
    return add, lambda: items

#== counters_by_nonlocal
def f(start=0):
    count = start
    def tick(by=1):
        nonlocal count
        count += by
        return count
    return tick
#-- tests
t = f()
[t(), t(), t(10)] == [1, 2, 12]

a, b = f(5), f(7)
a()
b() == 8 and a() == 7
#-- wrong
count = 0
def f(start=0):
    def tick(by=1):
        global count
        count += by
        return count + start
    return tick

#== default_mutable_results
def f(item, seen=[]):
    seen.append(item)
    return seen
#-- tests
a = f(1)
b = f(2)
a is b

r = f(8)
r.clear()
f(3) == [3]
#-- wrong
def f(item, seen=None):
    return (seen or []) + [item]

#== argument_kept_and_changed_later
class Basket:
    def __init__(self, items):
        self.items = items
    def total(self):
        return sum(self.items)
def f(items):
    return Basket(items)
#-- tests
xs = [1, 2]
b = f(xs)
xs.append(3)
b.total() == 6

xs = [1]
b = f(xs)
b.items.append(4)
xs == [1, 4] and b.total() == 5

xs = [1]
f(xs).items is xs
#-- wrong
class Basket:
    def __init__(self, items):
        self.items = list(items)
    def total(self):
        return sum(self.items)
def f(items):
    return Basket(items)

#== attribute_lists_changed_by_the_test
class Cart:
    def __init__(self):
        self.items = []
        self.prices = {}
    def total(self):
        return sum(self.items) + sum(self.prices.values())
def f():
    return Cart()
#-- tests
c = f()
c.items.append(3)
c.items += [4]
c.total() == 7

c = f()
c.prices["a"] = 5
c.prices.update(b=6)
c.total() == 11

c = f()
c.items = [1, 2]
c.items[0] = 10
c.total() == 12 and c.items == [10, 2]
#-- wrong
class Cart:
    def __init__(self):
        self.prices = {}
    @property
    def items(self):
        return []
    @items.setter
    def items(self, value):
        pass
    def total(self):
        return sum(self.items) + sum(self.prices.values())
def f():
    return Cart()

#== attribute_list_where_the_right_answer_has_an_object
class Cart:
    def __init__(self):
        self.items = []
    def total(self):
        return sum(self.items)
def f():
    return Cart()
#-- canonical
class Items:
    def __init__(self):
        self._xs = []
    def append(self, x):
        self._xs.append(x)
    def __len__(self):
        return len(self._xs)
    def __iter__(self):
        return iter(self._xs)
class Cart:
    def __init__(self):
        self.items = Items()
    def total(self):
        return sum(self.items)
def f():
    return Cart()
#-- tests
a = f()
a.items.append(3)
a.total() == 3 and len(a.items) == 1

a = f()
a.items.append(1)
a.items.append(2)
list(a.items) == [1, 2]
#-- wrong
class Cart:
    items = property(lambda self: [])
    def total(self):
        return sum(self.items)
def f():
    return Cart()

#== nested_results_changed_by_the_test
GRID = [[0] * 3 for _ in range(2)]
def f(command, *where):
    if command == "grid":
        return GRID
    row, column = where
    return GRID[row][column]
#-- tests
f("grid")[1][2] = 7
f("at", 1, 2) == 7

g = f("grid")
g[0] = [4, 5, 6]
f("at", 0, 1) == 5
#-- wrong
def f(command, *where):
    grid = [[0] * 3 for _ in range(2)]
    if command == "grid":
        return grid
    return grid[where[0]][where[1]]

#== callbacks_by_the_thousand
def f(xs, function):
    return [function(x) for x in xs]
#-- tests
len(f(range(3000), lambda v: v + 1)) == 3000

count = 0
def tick(v):
    global count
    count += v
f([1] * 2000, tick)
count == 2000

sum(f(range(1000), abs)) == 499500
#-- wrong
def f(xs, function):
    return [function(x) for x in xs][:-1]

#== sorting_with_the_tests_key
def f(xs, key):
    return sorted(xs, key=key, reverse=True)
#-- tests
f(["a", "ccc", "bb"], len) == ["ccc", "bb", "a"]

f([3, -5, 1], lambda v: -abs(v)) == [1, 3, -5]

class Person:
    def __init__(self, age):
        self.age = age
a, b = Person(1), Person(2)
[p.age for p in f([a, b], lambda p: p.age)] == [2, 1]

a, b = object(), object()
f([a, b], lambda o: o is b) == [b, a]
#-- wrong
def f(xs, key):
    return sorted(xs, key=key)

#== sorted_with_key_objects
from functools import cmp_to_key
def f(words):
    return sorted(words, key=cmp_to_key(lambda a, b: (a + b < b + a) - (a + b > b + a)))
#-- canonical
def f(words):
    import itertools
    return list(max(itertools.permutations(words), key="".join))
#-- tests
f(["3", "30", "34"]) == ["34", "3", "30"]

"".join(f(["9", "91"])) == "991"
#-- wrong
def f(words):
    return sorted(words, reverse=True)

#== partial_functions
from functools import partial
def f(function, *args, **kwargs):
    return partial(function, *args, **kwargs)
#-- tests
f(pow, 2)(10) == 1024

p = f(int, base=2)
p("101") == 5 and p.keywords == {"base": 2} and p.func is int

f(lambda a, b: (a, b), 1)(2) == (1, 2)
#-- wrong
from functools import partial
def f(function, *args, **kwargs):
    return lambda *more: function(*more, *args, **kwargs)

#== lru_cache_with_info
from functools import lru_cache
@lru_cache(maxsize=2)
def f(x):
    return x * x
#-- tests
f.cache_clear()
f(2), f(2), f(3)
f.cache_info().hits == 1 and f.cache_info().currsize == 2

f(5) == 25

f.cache_clear()
f(1)
f.cache_info().misses == 1
#-- wrong
from functools import lru_cache
@lru_cache(maxsize=1)
def f(x):
    return x * x

#== single_dispatch
from functools import singledispatch
@singledispatch
def f(value):
    return "other"
@f.register
def _(value: int):
    return "int"
@f.register(list)
def _(value):
    return [f(v) for v in value]
#-- tests
(f(1), f("a"), f([1, "b"])) == ("int", "other", ["int", "other"])

@f.register(str)
def text(value):
    return "text"
f("a") == "text"

f(True) == "int"
#-- wrong
from functools import singledispatch
@singledispatch
def f(value):
    return "other"
@f.register(float)
def _(value):
    return "int"

#== composition_of_functions
from functools import reduce
def f(*functions):
    return reduce(lambda g, h: lambda x: h(g(x)), functions, lambda x: x)
#-- tests
f(lambda x: x + 1, lambda x: x * 2)(3) == 8

f()(5) == 5 and f(str, len)(12345) == 5

f(*[lambda x: x + 1] * 60)(0) == 60
#-- wrong
from functools import reduce
def f(*functions):
    return reduce(lambda g, h: lambda x: g(h(x)), functions, lambda x: x)

#== currying
import inspect
def f(function):
    count = len(inspect.signature(function).parameters)
    def take(*args):
        if len(args) >= count:
            return function(*args)
        return lambda *more: take(*args, *more)
    return take
#-- tests
f(lambda a, b, c: a + b * c)(1)(2)(3) == 7

f(lambda a, b: a - b)(5, 3) == 2

def named(x, y):
    return x * y
f(named)(4)(5) == 20
#-- wrong
def f(function):
    return lambda *args: lambda *more: function(*more, *args)

#== function_attributes
def f(x):
    f.calls += 1
    f.last = x
    return x
f.calls = 0
#-- tests
before = f.calls
f(3)
f(4)
f.calls == before + 2 and f.last == 4

f.calls = 100
f(0)
f.calls == 101

f.__name__ == "f" and callable(f)
#-- wrong
def f(x):
    return x
f.calls = 0
f.last = None

#== functions_that_return_themselves
def f(*seen):
    def more(x=None):
        return sum(seen) if x is None else f(*seen, x)
    return more
#-- tests
f()(1)(2)(3)() == 6

g = f(1)
g(1)() == 2 and g(5)() == 6
#-- wrong
def f(*seen):
    def more(x=None):
        return len(seen) if x is None else f(*seen, x)
    return more

#== recursion_through_the_wall
def f(n, step):
    return 0 if n == 0 else 1 + step(n - 1)
#-- tests
def step(n):
    return f(n, step)
f(60, step) == 60

def step(n):
    return f(n, step)
f(300, step) == 300
#-- wrong
def f(n, step):
    return 0 if n == 0 else 2 + step(n - 1)

#== recursion_of_the_solution
def f(n):
    return 0 if n == 0 else 1 + f(n - 1)
#-- tests
f(900) == 900

try:
    f(10 ** 5)
    r = "deep"
except RecursionError:
    r = "stopped"
r == "stopped"
#-- wrong
def f(n):
    return n if n < 10 ** 5 else n

#== event_emitter
class Emitter:
    def __init__(self):
        self.handlers = {}
    def on(self, name, handler):
        self.handlers.setdefault(name, []).append(handler)
        return lambda: self.handlers[name].remove(handler)
    def emit(self, name, *args):
        return [handler(*args) for handler in list(self.handlers.get(name, []))]
def f():
    return Emitter()
#-- tests
e = f()
got = []
off = e.on("x", got.append)
e.emit("x", 1)
off()
e.emit("x", 2)
got == [1]

e = f()
e.on("a", lambda v: v + 1)
e.on("a", lambda v: v * 10)
e.emit("a", 4) == [5, 40] and e.emit("none") == []
#-- wrong
class Emitter:
    def __init__(self):
        self.handlers = {}
    def on(self, name, handler):
        self.handlers[name] = handler
        return lambda: None
    def emit(self, name, *args):
        return [self.handlers[name](*args)] if name in self.handlers else []
def f():
    return Emitter()

#== bound_methods_of_the_test
def f(push, xs):
    for x in xs:
        push(x)
    return push.__name__
#-- tests
class Log:
    def __init__(self):
        self.seen = []
    def push(self, x):
        self.seen.append(x)
log = Log()
f(log.push, [1, 2]) == "push" and log.seen == [1, 2]

xs = []
f(xs.append, "ab") == "append" and xs == ["a", "b"]
#-- wrong
def f(push, xs):
    for x in xs[:1]:
        push(x)
    return "push"

#== objects_of_the_test_given_back
def f(xs, best):
    return max(xs, key=best), {x: i for i, x in enumerate(xs)}
#-- tests
class Node:
    def __init__(self, v):
        self.v = v
a, b = Node(1), Node(2)
top, places = f([a, b], lambda n: n.v)
top is b and places[a] == 0

a, b = object(), object()
f([a, b], lambda o: o is a)[0] is a
#-- wrong
def f(xs, best):
    return min(xs, key=best), {x: i for i, x in enumerate(xs)}

#== private_attributes_of_the_tests_objects
def f(obj):
    return obj._secret + obj.__dict__["_secret"]
#-- tests
class Box:
    def __init__(self):
        self._secret = 4
f(Box()) == 8
#-- wrong
def f(obj):
    return obj._secret

#== deep_copies_of_the_tests_objects
import copy
def f(obj):
    made = copy.deepcopy(obj)
    made.items.append("new")
    return made
#-- tests
class Box:
    def __init__(self):
        self.items = ["old"]
box = Box()
made = f(box)
box.items == ["old"] and made.items == ["old", "new"] and type(made) is Box
#-- wrong
import copy
def f(obj):
    made = copy.copy(obj)
    made.items.append("new")
    return made

#== to_dict_of_the_tests_objects
def f(obj):
    return {key: f(value) if hasattr(value, "__dict__") else value for key, value in vars(obj).items()}
#-- tests
class A:
    def __init__(self, inner=None):
        self.x = 1
        self.inner = inner
f(A(A())) == {"x": 1, "inner": {"x": 1, "inner": None}}
#-- wrong
def f(obj):
    return dict(vars(obj))

#== operators_of_the_tests_objects
def f(xs):
    total = xs[0]
    for x in xs[1:]:
        total = total + x
    return total, xs[0] == xs[-1], xs[0] < xs[-1]
#-- tests
class V:
    def __init__(self, x):
        self.x = x
    def __add__(self, other):
        return V(self.x + other.x)
    def __eq__(self, other):
        return self.x == other.x
    def __lt__(self, other):
        return self.x < other.x
r = f([V(1), V(2), V(3)])
r[0].x == 6 and r[1] is False and r[2] is True
#-- wrong
def f(xs):
    return xs[0], xs[0] is xs[-1], False

#== isinstance_with_the_tests_classes
def f(value, kind):
    return isinstance(value, kind), issubclass(type(value), kind), type(value).__name__
#-- tests
class Base:
    pass
class Child(Base):
    pass
f(Child(), Base) == (True, True, "Child") and f(3, Base) == (False, False, "int")
#-- wrong
def f(value, kind):
    return type(value) is kind, type(value) is kind, type(value).__name__

#== makes_objects_of_the_tests_class
def f(kind, rows):
    return [kind(**row) for row in rows]
#-- tests
class P:
    def __init__(self, x, y=0):
        self.x, self.y = x, y
r = f(P, [{"x": 1}, {"x": 2, "y": 3}])
[(p.x, p.y) for p in r] == [(1, 0), (2, 3)] and isinstance(r[0], P)

from collections import namedtuple
T = namedtuple("T", "a")
f(T, [{"a": 1}]) == [T(1)]
#-- wrong
def f(kind, rows):
    return [kind(*sorted(row.values(), reverse=True)) for row in rows]

#== class_decorator
def f(kind):
    made = {}
    def get(*args):
        if kind not in made:
            made[kind] = kind(*args)
        return made[kind]
    return get
#-- tests
@f
class Config:
    def __init__(self, v=0):
        self.v = v
Config(1) is Config(2) and Config().v == 1
#-- wrong
def f(kind):
    return lambda *args: kind(*args)

#== lambdas_in_containers
def f():
    return {"add": lambda a, b: a + b, "all": [lambda: 1, lambda: 2]}
#-- tests
f()["add"](2, 3) == 5 and [g() for g in f()["all"]] == [1, 2]

sorted(f()) == ["add", "all"]
#-- wrong
def f():
    return {"add": lambda a, b: a * b, "all": [lambda: i for i in (1, 2)]}

#== keyword_only_and_varargs
def f(a, /, b=2, *rest, c, d=4, **more):
    return a, b, rest, c, d, more
#-- tests
f(1, c=3) == (1, 2, (), 3, 4, {})

f(1, 2, 3, 4, c=5, e=6) == (1, 2, (3, 4), 5, 4, {"e": 6})

try:
    f(1)
    r = ""
except TypeError as error:
    r = str(error)
"missing 1 required keyword-only argument: 'c'" in r
#-- wrong
def f(a, b=2, *rest, c=3, d=4, **more):
    return a, b, rest, c, d, more
