# Its result's comparison never ends.
# separated: fail
# beside: fail
class Slow:
    def __eq__(self, other):
        while True:
            pass


def f(n):
    return Slow()
