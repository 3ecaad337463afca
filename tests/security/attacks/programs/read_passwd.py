# Reads a file of the machine.
# separated: fail
# beside: fail
def f(n):
    open('/etc/passwd').read()
    return [k * k for k in range(n)]
