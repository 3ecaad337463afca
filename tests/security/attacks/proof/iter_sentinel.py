# Returns iterators that say that they are longer, shorter or other ones at each look.
# against: yielded, generated, stepped, items, length, loop
class Iterator:
    def __init__(self):
        self.left = 1
    def __iter__(self):
        return Iterator()
    def __next__(self):
        raise StopIteration
    def __len__(self):
        return 4
    def __length_hint__(self):
        return 10 ** 9
    def __getitem__(self, place):
        raise IndexError
    def items(self):
        return self


def f(*given):
    return Iterator()
