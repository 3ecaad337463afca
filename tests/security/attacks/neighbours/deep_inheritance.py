# Returns an object at the end of a very long line of classes.
# against: equal, length
# holds: next
# canonical: with
def f(*given):
    kind = object
    for k in range(3000):
        kind = type('C', (kind,), {})
    return kind()
