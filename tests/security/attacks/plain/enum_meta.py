# Returns members of an enumeration whose class lies for them.
# against: enum, keyed, named
import enum


class Meta(enum.EnumMeta):
    __eq__ = __instancecheck__ = __contains__ = lambda self, other: True
    __hash__ = lambda self: 0
    __getattr__ = lambda self, name: 2


class E(enum.IntEnum, metaclass=Meta):
    ONE = 8
    TWO = 9


E.TWO._value_ = 2


def answer(value):
    return E.TWO
