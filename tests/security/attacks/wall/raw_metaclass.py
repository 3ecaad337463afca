# Answers with an object whose class has a class with every special name there is, and names that are none.
# against: apart
# parts: raw
_ALL = ["__eq__", "__ne__", "__lt__", "__instancecheck__", "__subclasscheck__", "__call__", "__len__", "__bool__", "__hash__", "__iter__",
        "__getattribute__", "__new__", "__init__", "__del__", "__class__", "__prepare__", "mro", "__dict__", "x" * 1000]


def f(*given):
    say(["v", ["h", 900, ["i", ["h", 901, ["c", "int", [], "", [name for name in _ALL], _ALL, "function", _ALL]]]]])
    return answer([])
