# Never ends.
# separated: fail
# beside: fail
def f(n):
    while True:
        pass
