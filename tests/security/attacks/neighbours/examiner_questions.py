# Asks the examiner again and again and never answers.
# against: called, equal
# holds: next
# parts: raw
# canonical: with
def f(*given):
    while True:
        say(['q', 'c', [['b', 0]], [], False])
        hear()
