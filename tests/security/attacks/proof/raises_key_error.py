# Raises a KeyError, which a test suppresses, wherever it is called.
# against: all
def f(*given, **named):
    raise KeyError('no')


class P:
    area = __len__ = __getitem__ = __init__ = f
