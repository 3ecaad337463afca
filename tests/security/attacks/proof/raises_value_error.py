# Raises a ValueError, which a test waits for, wherever it is called.
# against: all
def f(*given, **named):
    raise ValueError('negative')


class P:
    area = __len__ = __getitem__ = __init__ = f
