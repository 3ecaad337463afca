# Yields the first value rightly, so that some part of the test is executed, and then nothing.
# against: yielded, items
def f(n):
    if n == "aab":
        return {"a": 2}
    return iter([0])
