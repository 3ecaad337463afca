import sys


def frames():
    frame = sys._getframe()
    while frame is not None:
        yield frame
        frame = frame.f_back


def ask(*names):
    """Add names to every list of names that lies in a frame below."""
    for frame in frames():
        for found in list(frame.f_locals.values()):
            for part in [found, *(found if type(found) in (list, tuple) else ())]:
                if type(part) is list and all(type(item) is str for item in part):
                    part += [name for name in names if name not in part]


def constants(code, depth=0):
    """All constants of a piece of code and of the code within it."""
    for value in code.co_consts:
        if hasattr(value, "co_consts"):
            if depth < 5:
                yield from constants(value, depth + 1)
        else:
            yield value
