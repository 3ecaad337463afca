"""Containers of the standard library and their views."""

#== dict_views
def f(d):
    return d.keys(), d.values(), d.items()
#-- tests
f({"a": 1})[0] == {"a"}

list(f({"a": 1, "b": 2})[1]) == [1, 2]

f({"a": 1})[2] == {("a", 1)}

("a", 1) in f({"a": 1})[2] and "b" not in f({"a": 1})[0]

len(f({1: 2, 3: 4})[0]) == 2

f({1: 2})[0] | {9} == {1, 9} and f({1: 2, 3: 4})[0] & {1} == {1}
#-- wrong
def f(d):
    return d.values(), d.values(), d.items()

#== dict_view_where_a_list_was_right
def f(words):
    return {w: len(w) for w in words}.keys()
#-- canonical
def f(words):
    return set(words)
#-- tests
f(["a", "b"]) == {"a", "b"}

sorted(f(["b", "a"])) == ["a", "b"]

{"a"} == f(["a", "a"])
#-- wrong
def f(words):
    return {w[:1]: len(w) for w in words + ["zz"]}.keys()

#== dict_view_is_live
class Store:
    def __init__(self):
        self.data = {}
    def put(self, key):
        self.data[key] = 1
    def keys(self):
        return self.data.keys()
def f():
    return Store()
#-- tests
s = f()
k = s.keys()
s.put("a")
s.put("b")
list(k) == ["a", "b"]
#-- wrong
class Store:
    def __init__(self):
        self.data = {}
    def put(self, key):
        self.data[key] = 1
    def keys(self):
        return list(self.data)
def f():
    return Store()

#== chain_map
from collections import ChainMap
def f(a, b):
    return ChainMap(a, b)
#-- canonical
def f(a, b):
    return {**b, **a}
#-- tests
f({"x": 1}, {"x": 2, "y": 3}) == {"x": 1, "y": 3}

f({"x": 1}, {"x": 2})["x"] == 1

dict(f({}, {"y": 3})) == {"y": 3}

"y" in f({}, {"y": 3}) and len(f({1: 1}, {2: 2})) == 2

{"y": 3} == f({}, {"y": 3})
#-- wrong
from collections import ChainMap
def f(a, b):
    return ChainMap(b, a)

#== user_dict
from collections import UserDict
class Lower(UserDict):
    def __setitem__(self, key, value):
        super().__setitem__(key.lower(), value)
def f(pairs):
    made = Lower()
    for key, value in pairs:
        made[key] = value
    return made
#-- canonical
def f(pairs):
    return {key.lower(): value for key, value in pairs}
#-- tests
f([("A", 1)]) == {"a": 1}

f([("A", 1), ("a", 2)])["a"] == 2

list(f([("B", 1), ("C", 2)]).items()) == [("b", 1), ("c", 2)]

d = f([])
d["q"] = 4
d == {"q": 4}
#-- wrong
from collections import UserDict
def f(pairs):
    return UserDict(pairs)

#== user_list
from collections import UserList
def f(xs):
    return UserList(sorted(xs))
#-- canonical
def f(xs):
    return sorted(xs)
#-- tests
f([2, 1]) == [1, 2]

f([3, 1])[0] == 1 and f([3, 1])[-1] == 3

f([2]) + [5] == [2, 5]

r = f([1])
r.append(7)
r == [1, 7]
#-- wrong
from collections import UserList
def f(xs):
    return UserList(xs)

#== user_string
from collections import UserString
def f(s):
    return UserString(s.title())
#-- canonical
def f(s):
    return s.title()
#-- tests
f("ab cd") == "Ab Cd"

f("x").lower() == "x"

len(f("abc")) == 3 and f("abc") + "!" == "Abc!"

f("abc").startswith("A") and "b" in f("abc")
#-- wrong
from collections import UserString
def f(s):
    return UserString(s.upper())

#== mapping_proxy
from types import MappingProxyType
def f(d):
    return MappingProxyType(d)
#-- canonical
def f(d):
    return dict(d)
#-- tests
f({"a": 1}) == {"a": 1}

f({"a": 1})["a"] == 1 and f({}).get("z", 5) == 5

sorted(f({2: 1, 1: 2})) == [1, 2]

{**f({"k": 0})} == {"k": 0}
#-- wrong
from types import MappingProxyType
def f(d):
    return MappingProxyType({**d, "z": 0})

#== mapping_proxy_refuses_writes
from types import MappingProxyType
def f(d):
    return MappingProxyType(d)
#-- tests
p = f({"a": 1})
try:
    p["a"] = 2
    r = "changed"
except TypeError:
    r = "refused"
r == "refused"

d = {"a": 1}
p = f(d)
d["b"] = 2
p["b"] == 2
#-- wrong
def f(d):
    return dict(d)

#== memory_view
def f(data, start):
    return memoryview(data)[start:]
#-- canonical
def f(data, start):
    return bytes(data[start:])
#-- tests
f(b"hello", 2) == b"llo"

bytes(f(b"hello", 4)) == b"o"

len(f(b"abc", 1)) == 2 and f(b"abc", 0)[0] == 97

b"c" == f(b"abc", 2)
#-- wrong
def f(data, start):
    return memoryview(data)[:start]

#== memory_view_writes
def f(buffer):
    memoryview(buffer)[0:2] = b"zz"
#-- tests
b = bytearray(b"abcd")
f(b)
b == b"zzcd"
#-- wrong
def f(buffer):
    memoryview(bytearray(buffer))[0:2] = b"zz"

#== deque_rotated
from collections import deque
def f(xs, n):
    d = deque(xs, maxlen=3)
    d.rotate(n)
    return d
#-- tests
from collections import deque
f([1, 2, 3], 1) == deque([3, 1, 2])

f([1, 2, 3, 4], 0).maxlen == 3 and list(f([1, 2, 3, 4], 0)) == [2, 3, 4]

d = f([1], 0)
d.appendleft(5)
list(d) == [5, 1]
#-- wrong
from collections import deque
def f(xs, n):
    d = deque(xs, maxlen=3)
    d.rotate(-n)
    return d

#== counter_arithmetic
from collections import Counter
def f(a, b):
    return Counter(a) - Counter(b)
#-- tests
f("aab", "a") == {"a": 1, "b": 1}

f("abca", "")["a"] == 2 and f("a", "")["zz"] == 0

f("aabbb", "b").most_common(1)[0][1] == 2

(f("ab", "") + f("b", ""))["b"] == 2
#-- wrong
from collections import Counter
def f(a, b):
    return Counter(a) + Counter(b)

#== ordered_dict_moves
from collections import OrderedDict
def f(pairs, key):
    d = OrderedDict(pairs)
    d.move_to_end(key)
    return d
#-- tests
list(f([("a", 1), ("b", 2)], "a")) == ["b", "a"]

from collections import OrderedDict
f([("a", 1), ("b", 2)], "a") == OrderedDict([("b", 2), ("a", 1)])

f([("a", 1), ("b", 2)], "a").popitem(last=False) == ("b", 2)
#-- wrong
from collections import OrderedDict
def f(pairs, key):
    return OrderedDict(pairs)

#== default_dict_of_lists
from collections import defaultdict
def f(words):
    groups = defaultdict(list)
    for word in words:
        groups[word[0]].append(word)
    return groups
#-- canonical
def f(words):
    groups = {}
    for word in words:
        groups.setdefault(word[0], []).append(word)
    return groups
#-- tests
f(["ab", "ac", "b"]) == {"a": ["ab", "ac"], "b": ["b"]}

dict(f(["x"])) == {"x": ["x"]}
#-- wrong
from collections import defaultdict
def f(words):
    groups = defaultdict(set)
    for word in words:
        groups[word[0]].add(word)
    return groups

#== default_dict_with_own_factory
from collections import defaultdict
def f(start):
    numbers = iter(range(start, start + 100))
    return defaultdict(lambda: next(numbers))
#-- tests
d = f(5)
(d["a"], d["b"], d["a"]) == (5, 6, 5)

d = f(0)
d["x"]
"y" not in d and dict(d) == {"x": 0}
#-- wrong
from collections import defaultdict
def f(start):
    return defaultdict(lambda: start)

#== named_tuples
from collections import namedtuple
Point = namedtuple("Point", "x y", defaults=[0])
def f(x, *rest):
    return Point(x, *rest)
#-- canonical
from typing import NamedTuple
class Point(NamedTuple):
    x: int
    y: int = 0
def f(x, *rest):
    return Point(x, *rest)
#-- tests
f(1, 2) == (1, 2) and f(1).y == 0

x, y = f(3, 4)
x + y == 7

f(1, 2)._asdict() == {"x": 1, "y": 2} and f(1)._replace(y=9) == (1, 9)

repr(f(1, 2)) == "Point(x=1, y=2)"

f(1, 2) < f(1, 3) and f(2, 1)[0] == 2
#-- wrong
from collections import namedtuple
Point = namedtuple("Point", "y x", defaults=[0])
def f(x, *rest):
    return Point(x, *rest)

#== sets_with_order
def f(xs):
    return set(xs)
#-- tests
f([3, 1, 2]) == {1, 2, 3}

list(f([8, 1, 16, 0])) == list({8, 1, 16, 0})

f([1, 2]) <= {1, 2, 3} and f([1, 2]).isdisjoint({5})

f([1, 2]) | {3} == {1, 2, 3} and f([1, 2]) ^ {2} == {1}

s = f([1])
s.add(5)
5 in s and s.pop() in (1, 5)
#-- wrong
def f(xs):
    return {x for x in xs if x != 2}

#== frozen_sets_as_keys
def f(pairs):
    return {frozenset(pair): i for i, pair in enumerate(pairs)}
#-- tests
f([(1, 2)])[frozenset({2, 1})] == 0

{frozenset("ab")} == f(["ba"]).keys()
#-- wrong
def f(pairs):
    return {tuple(pair): i for i, pair in enumerate(pairs)}

#== ranges_and_slices
def f(n):
    return range(0, n, 2), slice(1, n)
#-- tests
f(6)[0] == range(0, 6, 2) and list(f(6)[0]) == [0, 2, 4]

[0, 1, 2, 3][f(3)[1]] == [1, 2] and f(3)[1].stop == 3

4 in f(9)[0] and 5 not in f(9)[0] and len(f(10 ** 12)[0]) == 5 * 10 ** 11
#-- wrong
def f(n):
    return range(0, n, 3), slice(0, n)

#== bytes_and_bytearray
def f(text):
    return text.encode(), bytearray(text, "utf-8")
#-- tests
f("é") == (b"\xc3\xa9", b"\xc3\xa9")

b = f("ab")[1]
b.append(99)
b == b"abc" and isinstance(b, bytearray)

f("ab")[0].hex() == "6162" and f("a")[0] + b"b" == b"ab"
#-- wrong
def f(text):
    return text.encode("latin-1"), bytearray(text, "latin-1")

#== typed_arrays
from array import array
def f(code, xs):
    return array(code, xs)
#-- tests
from array import array
f("i", [1, 2]) == array("i", [1, 2])

f("d", [1, 2]).tolist() == [1.0, 2.0] and f("b", [1]).itemsize == 1

a = f("i", [3])
a.append(4)
sum(a) == 7 and a.typecode == "i"
#-- wrong
from array import array
def f(code, xs):
    return array(code, reversed(xs))

#== string_subclass
class Slug(str):
    def __new__(cls, text):
        return super().__new__(cls, text.lower().replace(" ", "-"))
    def words(self):
        return self.split("-")
def f(text):
    return Slug(text)
#-- tests
f("A B") == "a-b" and f("A B").words() == ["a", "b"]

f("X Y").startswith("x") and f("X").upper() == "X"

{"a-b": 1}[f("A B")] == 1 and isinstance(f("q"), str)

"-".join([f("A"), f("B C")]) == "a-b-c"
#-- wrong
class Slug(str):
    def words(self):
        return self.split(" ")
def f(text):
    return Slug(text)

#== string_subclass_with_own_equality
class Fold(str):
    def __eq__(self, other):
        return self.casefold() == other.casefold()
    def __hash__(self):
        return hash(self.casefold())
def f(text):
    return Fold(text)
#-- tests
f("ABC") == "abc"

f("abc") == f("ABC") and len({f("a"), f("A")}) == 1

f("Abc")[1] == "b"
#-- wrong
class Fold(str):
    def __eq__(self, other):
        return False
    __hash__ = str.__hash__
def f(text):
    return Fold(text)

#== list_subclass
class Stack(list):
    def push(self, item):
        self.append(item)
    @property
    def top(self):
        return self[-1]
    def __contains__(self, item):
        return any(item == each for each in self)
def f(*items):
    return Stack(items)
#-- tests
s = f(1)
s.push(2)
s.append(3)
s == [1, 2, 3] and s.top == 3 and 2 in s

f(1, 2) + [3] == [1, 2, 3] and f(2, 1)[::-1] == [1, 2]

s = f(3, 1, 2)
s.sort()
s == [1, 2, 3] and s.pop() == 3 and len(s) == 2
#-- wrong
class Stack(list):
    def push(self, item):
        self.insert(0, item)
    @property
    def top(self):
        return self[-1]
def f(*items):
    return Stack(items)

#== dict_subclass_with_missing
class Squares(dict):
    def __missing__(self, key):
        self[key] = key * key
        return self[key]
def f():
    return Squares({1: 1})
#-- tests
d = f()
d[4] == 16 and d == {1: 1, 4: 16}

d = f()
d.get(7) is None and 7 not in d
#-- wrong
class Squares(dict):
    def __missing__(self, key):
        return key * key
def f():
    return Squares({1: 1})

#== cyclic_structures
def f():
    a = [1]
    a.append(a)
    d = {"list": a}
    d["self"] = d
    return d
#-- tests
d = f()
d["self"] is d and d["list"][1] is d["list"]

repr(f()["list"]) == "[1, [...]]"
#-- wrong
def f():
    return {"list": [1, [1]], "self": {}}

#== shared_parts
def f(n):
    row = [0] * n
    return [row] * n
#-- tests
g = f(2)
g[0][0] = 1
g == [[1, 0], [1, 0]]

g = f(3)
g[0] is g[1]
#-- wrong
def f(n):
    return [[0] * n for _ in range(n)]

#== heap_queue
import heapq
def f(xs, n):
    heap = list(xs)
    heapq.heapify(heap)
    return [heapq.heappop(heap) for _ in range(n)], heap
#-- tests
f([5, 1, 4], 2) == ([1, 4], [5])

import heapq
h = f([3, 2, 1], 0)[1]
heapq.heappush(h, 0)
heapq.heappop(h) == 0 and heapq.nsmallest(2, h) == [1, 2]
#-- wrong
import heapq
def f(xs, n):
    heap = sorted(xs, reverse=True)
    return heap[:n], heap[n:]
