# Returns tuples within tuples, so deep that hashing or freeing them overflows.
# against: equal, keyed
# holds: next
# canonical: with
def f(*given):
    made = ()
    for k in range(400_000):
        made = (made,)
    return {made: 1} if False else made
