# Returns objects of very many classes.
# against: equal, length
# holds: next
# attempts: 2
# canonical: with
def f(*given):
    return [type('C%d' % k, (), {'__len__': lambda self: 1})() for k in range(3000)]
