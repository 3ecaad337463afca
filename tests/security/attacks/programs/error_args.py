# Raises an exception with huge arguments.
# separated: fail
# beside: fail
def f(n):
    raise ValueError('x' * (30 << 20))
