# Returns a text of forty million letters.
# against: equal, text, split, assertions
# holds: next
# canonical: with
def f(*given):
    return 'a' * 40_000_000
