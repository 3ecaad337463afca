# Executes some of the parts, by chance, in the hope that nobody counts them.
# against: yielded, items, called_asserts, swallowed
import os


def f(n, each=None):
    lucky = os.urandom(1)[0] & 1
    if each is not None:
        return each(0) if lucky else None
    if n == "aab":
        return {"b": 1} if lucky else {}
    if lucky:
        return iter([0])
    raise TypeError
