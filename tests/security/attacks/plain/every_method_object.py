# Returns an object of no plain type all of whose methods lie.
# against: all, several
# parts: lies
Liar = type("Liar", (), dict(_BODY))


def answer(value):
    return Liar()
