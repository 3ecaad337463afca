# An ordinary answer.
# separated: pass
# beside: pass
def f(n):
    return [k * k for k in range(n)]
