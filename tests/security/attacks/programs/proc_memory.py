# Opens the memory of its parent.
# separated: fail
# beside: fail
def f(n):
    import os
    open(f'/proc/{os.getppid()}/mem', 'rb').read(1)
    return [k * k for k in range(n)]
