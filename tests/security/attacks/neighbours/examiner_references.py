# Answers with lists that hold the one before them twice, a million million million elements in all.
# against: equal, length, printed, unittest, assertions, split
# holds: next
# canonical: with
def f(*given):
    made = [1]
    for k in range(60):
        made = [made, made]
    return made
