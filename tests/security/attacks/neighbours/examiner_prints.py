# Prints more than anybody wants to read, at every call.
# against: equal, check, beside
# holds: next
# canonical: with
def f(*given):
    print('x' * 3_000_000)
    return answer([])
