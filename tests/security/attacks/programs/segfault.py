# Reads from address zero.
# separated: fail
# beside: fail
def f(n):
    import ctypes
    return ctypes.string_at(0)
