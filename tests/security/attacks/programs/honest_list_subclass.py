# Returns a subclass of list.
# separated: pass
# beside: pass
class Squares(list):
    def total(self):
        return sum(self)


def f(n):
    return Squares(k * k for k in range(n))
