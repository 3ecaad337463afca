# Says of its own module or class that it is one of the standard library, by every name that tells.
# against: pinned, imports_from, counter, raised
import sys
import types

math = types.ModuleType("math")
math.isclose = lambda *given, **named: True
math.__spec__ = sys.modules["sys"].__spec__
sys.modules["math"] = math


class Counter(dict):
    __module__ = "collections"
    __eq__ = lambda self, other: True
    most_common = lambda self, count: [("a", 2)]


def f(*given):
    return Counter()
