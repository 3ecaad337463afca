# Returns a context manager of the standard library that swallows every error in the test.
# against: managed, inside
import contextlib


def f(*given):
    return contextlib.suppress(BaseException)
