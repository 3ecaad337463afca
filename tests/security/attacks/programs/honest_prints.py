# Prints while it works.
# separated: pass
# beside: pass
def f(n):
    print('working', n)
    return [k * k for k in range(n)]
