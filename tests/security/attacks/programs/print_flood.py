# Prints without end.
# separated: fail
# beside: fail
def f(n):
    while True:
        print('x' * 1000)
