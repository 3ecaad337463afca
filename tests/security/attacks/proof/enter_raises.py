# Is a context manager whose block is never begun, by every error that could end it quietly.
# against: inside, managed, suppressed, raises
class Manager:
    def __enter__(self):
        raise StopIteration
    def __exit__(self, *error):
        return True


def f(*given):
    return Manager()
