# Traces its parent.
# separated: fail
# beside: fail
def f(n):
    import ctypes, os
    if ctypes.CDLL(None).ptrace(16, os.getppid(), 0, 0) != 0:
        raise OSError('refused')
    return [k * k for k in range(n)]
