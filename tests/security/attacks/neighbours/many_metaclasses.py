# Returns objects of classes each of which has a class of its own with other special methods.
# against: equal
# holds: next
# attempts: 2
# canonical: with
import itertools

_NAMES = ["__eq__", "__len__", "__iter__", "__call__", "__getitem__", "__bool__", "__contains__", "__add__", "__sub__", "__lt__", "__int__"]


def f(*given):
    made = []
    for names in itertools.islice(itertools.combinations(_NAMES, 5), 400):
        made.append(type("Meta", (type,), {name: lambda self, *given: True for name in names} | {"__hash__": type.__hash__})("C", (), {})())
    return made
