# Has the examiner's own caches filled: regular expressions, formats, imports, interned names.
# against: equal, mapping
# holds: next
# parts: raw
# attempts: 3
# canonical: with
def f(*given):
    say(['v', ['D', [part for k in range(50_000) for part in (f'name{k}' * 5, ['n', 'module math'])]]])
    return answer([])
