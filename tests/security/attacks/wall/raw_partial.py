# Answers with functions of the standard library built up to do more than each of them may.
# against: apart
# parts: raw
def f(*given):
    say(["v", ["E", ["n", "functools:partial"], []]])
    return answer([])


def g(*given):
    say(["v", ["E", ["n", "print"], [1, 2]]])
