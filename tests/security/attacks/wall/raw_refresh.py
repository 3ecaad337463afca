# Answers with new contents for copies that it never handed out, and for classes and functions.
# against: equal, mapping, subset, check, loop, class
# parts: raw
def f(*given):
    say(["v", ["L", []], [], [[token, ["L", []]] for token in range(-2, 6)], "text" * 1000])
    return answer([])
