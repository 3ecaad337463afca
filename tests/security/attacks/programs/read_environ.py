# Reads the environment of its parent.
# separated: fail
# beside: fail
def f(n):
    open('/proc/1/environ').read()
    return [k * k for k in range(n)]
