# Answers with a mapping and a set whose keys are tuples that take for ever to hash.
# against: subset, equal
# holds: next
# canonical: with
def f(*given):
    made = (1,)
    for k in range(60):
        made = (made, made)
    return {made}
