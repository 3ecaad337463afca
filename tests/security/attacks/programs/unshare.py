# Makes namespaces of its own.
# separated: fail
# beside: fail
def f(n):
    import ctypes
    if ctypes.CDLL(None).unshare(0x10000000) != 0:
        raise OSError('refused')
    return [k * k for k in range(n)]
