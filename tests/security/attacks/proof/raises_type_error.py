# Raises a TypeError, which a test swallows, wherever it is called.
# against: all
def f(*given, **named):
    raise TypeError('no')


class P:
    area = __len__ = __getitem__ = __init__ = f
