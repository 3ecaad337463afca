# Returns views and proxies onto mappings that lie.
# against: mapping, items, equal, subset, length
import types


class Lying(dict):
    __getitem__ = get = lambda self, *given: self
    __eq__ = __contains__ = lambda self, other: True
    __iter__ = keys = items = lambda self: iter(())
    __len__ = lambda self: 4


_made = [types.MappingProxyType(Lying()), Lying().keys(), dict.keys(Lying()), dict.items(Lying()), dict.values(Lying()), memoryview(b"")]


def f(*given):
    _made.append(_made.pop(0))
    return _made[0]
