# Answers with classes whose plain base is a type that was never meant to be one.
# against: equal, check, class, subset, mapping
# parts: raw
_BASES = ["type", "object", "map", "range", "bool", "NoneType", "BaseException", "StopIteration", "fractions:Fraction", "collections:Counter",
          "collections.abc:Set", "collections.abc:Mapping", "decimal:Decimal", "datetime:date", "functools:partial", "contextlib:suppress", "len"]
_count = [0]


def f(*given):
    _count[0] += 1
    base = _BASES[_count[0] % len(_BASES)]
    say(["v", ["h", 900, ["i", ["h", 901, ["c", "X", [], base, ["__eq__", "__len__", "__contains__"], ["__eq__"], "", []]], [1]]]])
    return answer([])
