"""Classes: operators, properties, descriptors, metaclasses, state."""

#== vector_operators | class Vector
class Vector:
    def __init__(self, x, y):
        self.x, self.y = x, y
    def __add__(self, other):
        return Vector(self.x + other.x, self.y + other.y)
    def __mul__(self, k):
        return Vector(self.x * k, self.y * k)
    __rmul__ = __mul__
    def __neg__(self):
        return self * -1
    def __abs__(self):
        return (self.x ** 2 + self.y ** 2) ** .5
    def __eq__(self, other):
        return isinstance(other, Vector) and (self.x, self.y) == (other.x, other.y)
    def __hash__(self):
        return hash((self.x, self.y))
    def __bool__(self):
        return bool(self.x or self.y)
    def __repr__(self):
        return f"Vector({self.x}, {self.y})"
    def __iter__(self):
        return iter((self.x, self.y))
    def __matmul__(self, other):
        return self.x * other.x + self.y * other.y
#-- tests
Vector(1, 2) + Vector(3, 4) == Vector(4, 6)

abs(Vector(3, 4)) == 5 and not Vector(0, 0) and -Vector(1, 2) == Vector(-1, -2)

2 * Vector(1, 2) == Vector(1, 2) * 2 == Vector(2, 4)

repr(Vector(1, 2)) == "Vector(1, 2)" and tuple(Vector(1, 2)) == (1, 2)

Vector(1, 2) @ Vector(3, 4) == 11 and len({Vector(1, 1), Vector(1, 1)}) == 1

v = Vector(1, 1)
v += Vector(1, 1)
v == Vector(2, 2) and v != (2, 2)
#-- wrong
class Vector:
    def __init__(self, x, y):
        self.x, self.y = x, y
    def __add__(self, other):
        return Vector(self.x + other.x, self.y)
    def __eq__(self, other):
        return (self.x, self.y) == (other.x, other.y)

#== total_ordering | class Version
import functools
@functools.total_ordering
class Version:
    def __init__(self, text):
        self.parts = [int(p) for p in text.split(".")]
    def __eq__(self, other):
        return self.parts == other.parts
    def __lt__(self, other):
        return self.parts < other.parts
    def __str__(self):
        return ".".join(map(str, self.parts))
#-- tests
Version("1.2") < Version("1.10") and Version("2") >= Version("1.9")

max(Version("1.0"), Version("0.9")).parts == [1, 0]

[str(v) for v in sorted(map(Version, ["1.10", "1.9", "1.2"]))] == ["1.2", "1.9", "1.10"]

try:
    hash(Version("1"))
    r = "hashed"
except TypeError:
    r = "unhashable"
r == "unhashable"
#-- wrong
class Version(str):
    @property
    def parts(self):
        return [int(p) for p in self.split(".")]

#== properties_with_checks | class Account
class Account:
    def __init__(self, balance=0):
        self.balance = balance
    @property
    def balance(self):
        return self._balance
    @balance.setter
    def balance(self, value):
        if value < 0:
            raise ValueError("negative balance")
        self._balance = value
    @balance.deleter
    def balance(self):
        self._balance = 0
#-- tests
a = Account(5)
a.balance += 10
a.balance == 15

try:
    Account(1).balance = -1
    r = None
except ValueError as error:
    r = str(error)
r == "negative balance"

a = Account(3)
del a.balance
a.balance == 0 and a._balance == 0

isinstance(Account.balance, property)
#-- wrong
class Account:
    def __init__(self, balance=0):
        self.balance = self._balance = balance

#== descriptors | class Item
class Positive:
    def __set_name__(self, owner, name):
        self.name = "_" + name
    def __get__(self, obj, owner=None):
        return self if obj is None else getattr(obj, self.name)
    def __set__(self, obj, value):
        if value <= 0:
            raise ValueError(self.name)
        setattr(obj, self.name, value)
class Item:
    price = Positive()
    weight = Positive()
    def __init__(self, price, weight):
        self.price, self.weight = price, weight
#-- tests
Item(2, 3).price * Item(2, 3).weight == 6

i = Item(1, 1)
try:
    i.weight = 0
    r = ""
except ValueError as error:
    r = str(error)
(r, i.weight) == ("_weight", 1)

type(Item.price).__name__ == "Positive"

i = Item(1, 2)
i.__dict__ == {"_price": 1, "_weight": 2}
#-- wrong
class Item:
    def __init__(self, price, weight):
        self.price, self.weight = price, weight

#== metaclass_registry | class Plugin
class Registry(type):
    known = {}
    def __new__(mcls, name, bases, space):
        made = super().__new__(mcls, name, bases, space)
        mcls.known[name] = made
        return made
    def __len__(cls):
        return len(cls.known)
    def __getitem__(cls, name):
        return cls.known[name]
class Plugin(metaclass=Registry):
    pass
class Zip(Plugin):
    suffix = ".zip"
#-- tests
len(Plugin) == 2 and Plugin["Zip"].suffix == ".zip"

class Tar(Plugin):
    suffix = ".tar"
Plugin["Tar"] is Tar

type(Plugin).__name__ == "Registry" and isinstance(Zip(), Plugin)
#-- wrong
class Plugin:
    def __class_getitem__(cls, name):
        return {"Plugin": cls}[name]
class Zip(Plugin):
    suffix = ".zip"

#== init_subclass_hook | class Base
class Base:
    kinds = []
    def __init_subclass__(cls, /, tag=None, **more):
        super().__init_subclass__(**more)
        cls.tag = tag
        Base.kinds.append(cls.__name__)
class One(Base, tag="one"):
    pass
#-- tests
One.tag == "one" and "One" in Base.kinds

class Two(Base, tag=2):
    pass
Two.tag == 2 and Base.kinds[-1] == "Two"
#-- wrong
class Base:
    kinds = []
    def __init_subclass__(cls, /, tag=None, **more):
        cls.tag = tag
class One(Base, tag="one"):
    pass

#== singleton_by_new | class Single
class Single:
    _it = None
    def __new__(cls):
        if cls._it is None:
            cls._it = super().__new__(cls)
            cls._it.values = []
        return cls._it
#-- tests
Single() is Single()

Single().values.append(1)
Single().values[-1] == 1

a = Single()
a.note = "x"
Single().note == "x"
#-- wrong
class Single:
    def __init__(self):
        self.values = []

#== abstract_class | class Shape
from abc import ABC, abstractmethod
class Shape(ABC):
    @abstractmethod
    def area(self):
        ...
    def describe(self):
        return f"{type(self).__name__} of {self.area()}"
class Square(Shape):
    def __init__(self, side):
        self.side = side
    def area(self):
        return self.side ** 2
#-- tests
Square(3).describe() == "Square of 9" and isinstance(Square(1), Shape)

try:
    Shape()
    r = "made"
except TypeError as error:
    r = "abstract" in str(error)
r is True

class Line(Shape):
    def area(self):
        return 0
Line().describe() == "Line of 0"
#-- wrong
class Shape:
    def area(self):
        return 0
    def describe(self):
        return f"Shape of {self.area()}"
class Square(Shape):
    def __init__(self, side):
        self.side = side
    def area(self):
        return self.side ** 2

#== protocols_and_generics | class Stack
from typing import Generic, Protocol, TypeVar, runtime_checkable
T = TypeVar("T")
@runtime_checkable
class Sized(Protocol):
    def size(self) -> int: ...
class Stack(Generic[T]):
    def __init__(self) -> None:
        self._items: list[T] = []
    def push(self, item: T) -> "Stack[T]":
        self._items.append(item)
        return self
    def pop(self) -> T:
        return self._items.pop()
    def size(self) -> int:
        return len(self._items)
#-- tests
isinstance(Stack(), Sized) and not isinstance(3, Sized)

Stack[int]().push(1).push(2).pop() == 2

s = Stack()
s.push(1)
s.size() == 1 and s._items == [1]

class Mine:
    def size(self):
        return 0
isinstance(Mine(), Sized)
#-- wrong
class Sized:
    pass
class Stack(list):
    def __class_getitem__(cls, item):
        return cls
    def push(self, item):
        self.insert(0, item)
        return self
    def size(self):
        return len(self)

#== class_level_state | class Ticket
class Ticket:
    count = 0
    sold = []
    def __init__(self):
        Ticket.count += 1
        self.number = Ticket.count
        self.sold.append(self.number)
    @classmethod
    def reset(cls):
        cls.count = 0
        cls.sold.clear()
    @staticmethod
    def price(n):
        return 10 * n
#-- tests
Ticket.reset()
Ticket(), Ticket()
Ticket.count == 2 and Ticket.sold == [1, 2]

Ticket.reset()
Ticket.count = 10
Ticket().number == 11

Ticket.price(3) == 30 and Ticket().price(1) == 10
#-- wrong
class Ticket:
    count = 0
    sold = []
    def __init__(self):
        self.count += 1
        self.number = self.count
    @classmethod
    def reset(cls):
        cls.count = 0
    @staticmethod
    def price(n):
        return n

#== dataclasses | class Point
from dataclasses import dataclass, field, replace
@dataclass(order=True)
class Point:
    x: int
    y: int = 0
    tags: list = field(default_factory=list, compare=False)
    def moved(self, dx):
        return replace(self, x=self.x + dx)
#-- tests
Point(1, 2) == Point(1, 2) and Point(1) < Point(2) and Point(1) != Point(1, 1)

repr(Point(1)) == "Point(x=1, y=0, tags=[])"

Point(1).moved(4).x == 5 and sorted([Point(3), Point(1)])[0].x == 1

from dataclasses import asdict
asdict(Point(1, 2, ["a"])) == {"x": 1, "y": 2, "tags": ["a"]}

a, b = Point(1), Point(1)
a.tags.append("t")
b.tags == [] and a.tags == ["t"]
#-- wrong
class Point:
    def __init__(self, x, y=0, tags=[]):
        self.x, self.y, self.tags = x, y, tags
    def __repr__(self):
        return f"Point(x={self.x}, y={self.y}, tags={self.tags})"
    def moved(self, dx):
        return Point(self.x + dx, self.y)

#== frozen_dataclass | class Money
from dataclasses import dataclass, FrozenInstanceError
@dataclass(frozen=True, slots=True)
class Money:
    amount: int
    unit: str = "EUR"
    def __post_init__(self):
        if self.amount < 0:
            raise ValueError("negative")
#-- tests
len({Money(1), Money(1), Money(2)}) == 2

try:
    Money(1).amount = 2
    r = "changed"
except AttributeError as error:
    r = type(error).__name__
r == "FrozenInstanceError"

{Money(5): "five"}[Money(5)] == "five"

try:
    Money(-1)
    r = 0
except ValueError as error:
    r = str(error)
r == "negative"
#-- wrong
from dataclasses import dataclass
@dataclass(unsafe_hash=True)
class Money:
    amount: int
    unit: str = "EUR"

#== enums | class Color
import enum
class Color(enum.Enum):
    RED = 1
    GREEN = 2
    CRIMSON = 1
    @property
    def pretty(self):
        return self.name.title()
class Flag(enum.Flag):
    A = enum.auto()
    B = enum.auto()
class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2
#-- tests
Color.RED is Color(1) and Color["GREEN"].value == 2 and Color.CRIMSON is Color.RED

[c.name for c in Color] == ["RED", "GREEN"] and Color.RED.pretty == "Red"

Color.RED != 1 and Color.RED == Color.RED and Color.RED in Color

{Color.RED: "r"}[Color(1)] == "r"

Flag.A in (Flag.A | Flag.B) and (Flag.A | Flag.B).value == 3

Level.LOW < Level.HIGH and Level.HIGH == 2 and Level(1) + 1 == 2

try:
    Color(9)
    r = None
except ValueError as error:
    r = str(error)
r == "9 is not a valid Color"
#-- wrong
class Color:
    RED, GREEN, CRIMSON = 1, 2, 3
class Flag:
    A, B = 1, 2
class Level:
    LOW, HIGH = 1, 2

#== string_enum
import enum
class Mode(str, enum.Enum):
    READ = "r"
    WRITE = "w"
def f(name):
    return Mode[name]
#-- canonical
def f(name):
    return {"READ": "r", "WRITE": "w"}[name]
#-- tests
f("READ") == "r"

f("WRITE").upper() == "W" and f("READ") + "b" == "rb"

{"r": 1}[f("READ")] == 1
#-- wrong
import enum
class Mode(str, enum.Enum):
    READ = "r"
    WRITE = "r+"
def f(name):
    return Mode[name]

#== getattr_fallback | class Proxy
class Proxy:
    def __init__(self, target):
        object.__setattr__(self, "_target", target)
        object.__setattr__(self, "log", [])
    def __getattr__(self, name):
        self.log.append(name)
        return getattr(self._target, name)
    def __setattr__(self, name, value):
        setattr(self._target, name, value)
#-- tests
p = Proxy([3, 1])
p.sort()
p._target == [1, 3] and p.log == ["sort"]

class T:
    x = 1
t = T()
p = Proxy(t)
p.x = 5
t.x == 5 and p.x == 5

try:
    Proxy(3).nothing
    r = "found"
except AttributeError:
    r = "absent"
r == "absent" and not hasattr(Proxy(3), "other")
#-- wrong
class Proxy:
    def __init__(self, target):
        self._target = target
        self.log = []
    def __getattr__(self, name):
        return getattr(self._target, name)

#== attribute_dictionary | class AttrDict
class AttrDict(dict):
    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None
    def __setattr__(self, name, value):
        self[name] = value
    def __delattr__(self, name):
        del self[name]
#-- tests
d = AttrDict(a=1)
d.b = 2
d == {"a": 1, "b": 2} and d.a == 1

d = AttrDict(a=1)
del d.a
d == {} and not hasattr(d, "a")

d = AttrDict()
d["x"] = AttrDict(y=3)
d.x.y == 3
#-- wrong
class AttrDict(dict):
    def __getattr__(self, name):
        return self.get(name)

#== multiple_classes | class Library
class Book:
    def __init__(self, title):
        self.title = title
        self.holder = None
class Member:
    def __init__(self, name):
        self.name = name
        self.books = []
class Library:
    def __init__(self):
        self.books, self.members = {}, {}
    def add(self, book):
        self.books[book.title] = book
    def lend(self, title, member):
        book = self.books[title]
        if book.holder:
            raise LookupError(f"{title} is lent to {book.holder.name}")
        book.holder = member
        member.books.append(book)
        return book
#-- tests
lib, m = Library(), Member("Ann")
b = Book("T")
lib.add(b)
lib.lend("T", m) is b and m.books == [b] and b.holder is m

lib = Library()
lib.add(Book("T"))
lib.lend("T", Member("Ann"))
try:
    lib.lend("T", Member("Bob"))
    r = ""
except LookupError as error:
    r = error.args[0]
r == "T is lent to Ann"

lib = Library()
lib.books["X"] = Book("X")
"X" in lib.books and list(lib.books.values())[0].title == "X"
#-- wrong
class Book:
    def __init__(self, title):
        self.title = title
        self.holder = None
class Member:
    def __init__(self, name):
        self.name = name
        self.books = []
class Library:
    def __init__(self):
        self.books = {}
    def add(self, book):
        self.books[book.title] = book
    def lend(self, title, member):
        return self.books[title]

#== linked_list_and_tree | class Tree
class Node:
    __slots__ = ("value", "left", "right")
    def __init__(self, value):
        self.value, self.left, self.right = value, None, None
class Tree:
    def __init__(self, values=()):
        self.root = None
        for value in values:
            self.insert(value)
    def insert(self, value):
        if self.root is None:
            self.root = Node(value)
            return
        node = self.root
        while True:
            side = "left" if value < node.value else "right"
            if getattr(node, side) is None:
                setattr(node, side, Node(value))
                return
            node = getattr(node, side)
    def __iter__(self):
        def walk(node):
            if node:
                yield from walk(node.left)
                yield node.value
                yield from walk(node.right)
        return walk(self.root)
    def __contains__(self, value):
        return value in list(self)
#-- tests
list(Tree([3, 1, 2])) == [1, 2, 3] and 2 in Tree([2]) and 5 not in Tree([2])

t = Tree([2, 1, 3])
t.root.left.value == 1 and t.root.right.right is None

t = Tree([1])
t.root.value = 7
list(t) == [7]
#-- wrong
class Tree:
    def __init__(self, values=()):
        self.values = list(values)
        self.root = None
    def insert(self, value):
        self.values.append(value)
    def __iter__(self):
        return iter(self.values)

#== inherits_from_a_class_of_the_test
def f(base):
    class Loud(base):
        def speak(self):
            return super().speak().upper() + "!"
    return Loud
#-- tests
class Dog:
    def speak(self):
        return "woof"
L = f(Dog)
L().speak() == "WOOF!" and issubclass(L, Dog) and L.__name__ == "Loud"
#-- wrong
def f(base):
    class Loud(base):
        pass
    return Loud

#== mixins_and_super | class Service
class Log:
    def __init__(self, **more):
        self.lines = []
        super().__init__(**more)
    def run(self):
        self.lines.append("log")
        return super().run()
class Core:
    def __init__(self, name):
        self.name = name
    def run(self):
        return self.name
class Service(Log, Core):
    pass
#-- tests
s = Service(name="x")
s.run() == "x" and s.lines == ["log"]

[k.__name__ for k in Service.__mro__] == ["Service", "Log", "Core", "object"]

class Mine(Service):
    def run(self):
        return "<" + super().run() + ">"
Mine(name="y").run() == "<y>"
#-- wrong
class Core:
    def __init__(self, name):
        self.name = name
        self.lines = []
    def run(self):
        return self.name
class Service(Core):
    pass

#== callable_objects
class Poly:
    def __init__(self, *c):
        self.c = c
    def __call__(self, x):
        return sum(k * x ** i for i, k in enumerate(self.c))
    def __add__(self, other):
        from itertools import zip_longest
        return Poly(*(a + b for a, b in zip_longest(self.c, other.c, fillvalue=0)))
    def __len__(self):
        return len(self.c)
    def __getitem__(self, i):
        return self.c[i]
def f(*c):
    return Poly(*c)
#-- canonical
class P(tuple):
    def __call__(self, x):
        return sum(k * x ** i for i, k in enumerate(self))
    def __add__(self, other):
        n = max(len(self), len(other))
        return P((self[i] if i < len(self) else 0) + (other[i] if i < len(other) else 0) for i in range(n))
def f(*c):
    return P(c)
#-- tests
f(1, 2, 3)(2) == 17 and callable(f())

(f(1, 2) + f(1))(10) == 22 and len(f(1, 2)) == 2

list(map(f(0, 1), [4, 5])) == [4, 5]

f(4, 5)[1] == 5
#-- wrong
class Poly:
    def __init__(self, *c):
        self.c = c
    def __call__(self, x):
        return sum(k * x * i for i, k in enumerate(self.c))
    def __add__(self, other):
        return self
    def __len__(self):
        return len(self.c)
    def __getitem__(self, i):
        return self.c[i]
def f(*c):
    return Poly(*c)

#== equality_between_two_answers
class Card:
    def __init__(self, rank):
        self.rank = rank
    def __eq__(self, other):
        return isinstance(other, Card) and self.rank == other.rank
    def __hash__(self):
        return hash(self.rank)
def f(ranks):
    return [Card(rank) for rank in ranks]
#-- tests
f([1, 2]) == f([1, 2])

f([1]) != f([2]) and f([3])[0] in f([1, 3])

set(f([1, 1, 2])) == set(f([2, 1]))

f([1, 2, 1]).count(f([1])[0]) == 2 and f([5, 6]).index(f([6])[0]) == 1
#-- wrong
class Card:
    def __init__(self, rank):
        self.rank = rank
def f(ranks):
    return [Card(rank) for rank in ranks]

#== bare_objects_compare_by_identity
class Job:
    pass
def f(n):
    return [Job() for _ in range(n)]
#-- tests
a = f(2)
a[0] != a[1] and a[0] == a[0] and a.index(a[1]) == 1

len(set(f(3))) == 3
#-- wrong
class Job:
    def __eq__(self, other):
        return True
    def __hash__(self):
        return 1
def f(n):
    return [Job() for _ in range(n)]

#== formatting_and_text | class Temp
class Temp:
    def __init__(self, c):
        self.c = c
    def __format__(self, spec):
        return f"{self.c * 9 / 5 + 32:.0f}F" if spec == "f" else f"{self.c}C"
    def __str__(self):
        return "str"
    def __repr__(self):
        return "repr"
    def __bytes__(self):
        return b"bytes"
    def __index__(self):
        return int(self.c)
    def __float__(self):
        return float(self.c)
    def __round__(self, n=0):
        return round(self.c, n)
#-- tests
f"{Temp(100):f}" == "212F" and f"{Temp(1)}" == "1C" and "{!r}".format(Temp(1)) == "repr"

str(Temp(1)) + repr([Temp(1)]) == "str[repr]" and bytes(Temp(1)) == b"bytes"

[10, 20, 30][Temp(1)] == 20 and hex(Temp(255)) == "0xff" and float(Temp(2)) == 2.0

"%s %r" % (Temp(1), Temp(2)) == "str repr" and round(Temp(1.26), 1) == 1.3
#-- wrong
class Temp(float):
    pass

#== weak_references | class Cache
import weakref
class Cache:
    def __init__(self):
        self._known = weakref.WeakValueDictionary()
    def put(self, key, value):
        self._known[key] = value
    def get(self, key):
        return self._known.get(key)
class Value:
    pass
#-- tests
c, v = Cache(), Value()
c.put("a", v)
c.get("a") is v

c = Cache()
v = Value()
c.put("a", v)
del v
c.get("a") is None
#-- wrong
class Cache(dict):
    def put(self, key, value):
        self[key] = value
class Value:
    pass

#== objects_that_count_their_lives | class Res
class Res:
    live = 0
    def __init__(self):
        Res.live += 1
    def __del__(self):
        Res.live -= 1
#-- tests
a, b = Res(), Res()
Res.live >= 2

before = Res.live
r = Res()
del r
Res.live == before
#-- wrong
class Res:
    live = 0
    def __init__(self):
        Res.live += 1

#== container_protocol | class Matrix
class Matrix:
    def __init__(self, rows):
        self.rows = [list(row) for row in rows]
    def __getitem__(self, at):
        i, j = at
        return self.rows[i][j]
    def __setitem__(self, at, value):
        i, j = at
        self.rows[i][j] = value
    def __delitem__(self, i):
        del self.rows[i]
    def __len__(self):
        return len(self.rows)
    def __contains__(self, value):
        return any(value in row for row in self.rows)
    def __reversed__(self):
        return reversed(self.rows)
    def __matmul__(self, other):
        return Matrix([[sum(a * b for a, b in zip(r, c)) for c in zip(*other.rows)] for r in self.rows])
    def __eq__(self, other):
        return self.rows == other.rows
#-- tests
m = Matrix([[1, 2], [3, 4]])
m[0, 1] = 9
m[0, 1] == 9 and 9 in m and 2 not in m

m = Matrix([[1, 2], [3, 4]])
del m[0]
len(m) == 1 and m.rows == [[3, 4]]

Matrix([[1, 2], [3, 4]]) @ Matrix([[0, 1], [1, 0]]) == Matrix([[2, 1], [4, 3]])

list(reversed(Matrix([[1], [2]]))) == [[2], [1]]

try:
    Matrix([[1]])[5, 5]
    r = ""
except IndexError as error:
    r = str(error)
r == "list index out of range"
#-- wrong
class Matrix(dict):
    def __init__(self, rows):
        self.rows = rows
        super().__init__({(i, j): v for i, row in enumerate(rows) for j, v in enumerate(row)})
    def __matmul__(self, other):
        return Matrix([[a * b for a, b in zip(r, c)] for r, c in zip(self.rows, other.rows)])

#== in_place_operators | class Bag
class Bag:
    def __init__(self, *xs):
        self.xs = list(xs)
    def __iadd__(self, x):
        self.xs.append(x)
        return self
    def __isub__(self, x):
        self.xs.remove(x)
        return self
    def __or__(self, other):
        return Bag(*self.xs, *other.xs)
    def __ror__(self, other):
        return Bag(*other, *self.xs)
    def __rshift__(self, function):
        return Bag(*map(function, self.xs))
#-- tests
b = c = Bag(1)
b += 2
b -= 1
c.xs == [2] and b is c

(Bag(1) | Bag(2)).xs == [1, 2] and ([0] | Bag(1)).xs == [0, 1]

(Bag(1, 2) >> (lambda v: v * 10)).xs == [10, 20]
#-- wrong
class Bag:
    def __init__(self, *xs):
        self.xs = list(xs)
    def __iadd__(self, x):
        return Bag(*self.xs, x)
    def __isub__(self, x):
        return Bag(*(y for y in self.xs if y != x))

#== class_as_a_value
class A:
    kind = "a"
class B(A):
    kind = "b"
def f(name):
    return {"a": A, "b": B, "int": int, "dict": dict}[name]
#-- tests
f("b")().kind == "b" and issubclass(f("b"), f("a")) and f("a").__name__ == "A"

f("int") is int and f("int")("5") == 5 and f("dict") is dict

f("a") is f("a") and f("a") is not f("b") and type(f("b")()) is f("b")
#-- wrong
class A:
    kind = "a"
def f(name):
    return {"a": A, "b": A, "int": int, "dict": dict}[name]

#== state_machine | class Machine
class Machine:
    steps = {("idle", "start"): "busy", ("busy", "stop"): "idle"}
    def __init__(self):
        self.state = "idle"
        self.history = []
    def send(self, event):
        new = self.steps.get((self.state, event))
        if new is None:
            raise ValueError(f"no {event} in {self.state}")
        self.history.append((self.state, new))
        self.state = new
        return self
#-- tests
Machine().send("start").send("stop").history == [("idle", "busy"), ("busy", "idle")]

m = Machine()
try:
    m.send("stop")
except ValueError as error:
    r = str(error)
(r, m.state) == ("no stop in idle", "idle")

Machine.steps["busy", "pause"] = "idle"
Machine().send("start").send("pause").state == "idle"
#-- wrong
class Machine:
    steps = {}
    def __init__(self):
        self.state = "idle"
        self.history = []
    def send(self, event):
        self.state = "busy" if event == "start" else "idle"
        return self
