# Answers honestly at first reading and with a lie at the comparison.
# separated: fail
# beside: flagged
class Liar(list):
    def __iter__(self):
        return iter([1])

    def __len__(self):
        return 4

    def __eq__(self, other):
        self[:] = other
        return True


def f(n):
    return Liar()
