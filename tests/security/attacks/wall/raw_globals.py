# Asks the functions of the test for their namespace and writes to it.
# against: called, called_asserts, decorated
# parts: raw
def f(*given):
    for token in range(8):
        for operation, more in (
            ("g", ["__globals__"]), ("g", ["__self__"]), ("g", ["__code__"]), ("g", ["__closure__"]), ("g", ["__dict__"]),
            ("s", ["__code__", 1]), ("s", ["__defaults__", ["T", []]]), ("d", ["__get__", 1]), ("copy", [True]), ("class", []),
        ):
            say(["q", operation, [["b", token], *more], [], False])
            hear()
    return given[0] if given else 0
