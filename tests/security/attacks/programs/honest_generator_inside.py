# Uses generators and closures.
# separated: pass
# beside: pass
def f(n):
    def squares():
        k = 0
        while True:
            yield k * k
            k += 1

    source = squares()
    return [next(source) for _ in range(n)]
