# Raises KeyboardInterrupt, which many catch to end quietly, wherever it is called.
# against: all
def f(*given, **named):
    raise KeyboardInterrupt


class P:
    area = __len__ = __getitem__ = __init__ = f
