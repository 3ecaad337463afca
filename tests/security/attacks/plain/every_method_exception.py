# Returns an exception all of whose methods lie.
# against: equal, keyed, length, text, check
# parts: lies
Liar = type("Liar", (ValueError,), dict(_BODY))


def answer(value):
    return Liar()
