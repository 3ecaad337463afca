# Asks for every operation with every kind of target while the examiner waits for an answer.
# against: equal, called, decorated, check, class, async_main
# parts: raw
def f(*given):
    for operation in ("c", "g", "s", "x", "d", "class", "copy", "import", "await", "n", "send", "throw", "close", "names", "eval"):
        for target in (["n", "len"], ["n", "module math"], ["n", "type"], ["n", "functools:partial"], ["b", 0], ["b", 10**6], None, "os"):
            say(["q", operation, [target, "__class__", "x"], [["name", 1]], True])
            hear()
    return answer([])
