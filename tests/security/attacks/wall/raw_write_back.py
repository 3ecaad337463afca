# Answers with changes to whatever containers came in the question, or did not.
# against: apart
# parts: raw
def f(*given):
    changes = [[number, ["L", []]] for number in range(4)] + [[number, []] for number in range(4)]
    say(["v", ["L", []], changes])
    return answer([])
