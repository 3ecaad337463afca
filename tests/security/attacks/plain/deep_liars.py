# Returns liars within tuples within lists within liars.
# against: equal, named, loop, check, generated, deque, sorts
# parts: lies
Liar = type("Liar", (tuple,), dict(_BODY))


def answer(value):
    return [Liar([Liar(), Liar()]), (Liar(), [Liar()])]
