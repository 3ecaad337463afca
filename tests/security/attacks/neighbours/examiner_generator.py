# Yields for ever.
# against: generated, yielded, length
# holds: next
# canonical: with
def f(*given):
    while True:
        yield 1
