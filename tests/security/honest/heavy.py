"""Much data, and many crossings."""

#== list_of_five_million | slow
def f(n):
    return list(range(n))
#-- canonical
def f(n):
    return range(n)
#-- tests
len(f(5_000_000)) == 5_000_000

f(5_000_000)[-1] == 4_999_999
#-- wrong
def f(n):
    return list(range(n - 1))

#== long_string | slow
def f(n):
    return "ab" * n
#-- tests
len(f(20_000_000)) == 40_000_000

f(20_000_000).endswith("ab")
#-- wrong
def f(n):
    return "ab" * n + "c"

#== long_bytes | slow
def f(n):
    return bytes(n)
#-- tests
len(f(30_000_000)) == 30_000_000 and not any(f(1000))
#-- wrong
def f(n):
    return bytes(n + 1)

#== arguments_of_three_million | slow
def f(xs):
    return max(xs), len(xs)
#-- tests
f(list(range(3_000_000))) == (2_999_999, 3_000_000)
#-- wrong
def f(xs):
    return max(xs), len(set(xs[:10]))

#== argument_changed_in_place_at_length | slow
def f(xs):
    xs.sort()
#-- tests
xs = list(range(500_000, 0, -1))
f(xs)
xs[0] == 1 and xs[-1] == 500_000
#-- wrong
def f(xs):
    xs = sorted(xs)

#== generator_of_many | slow
def f(n):
    for k in range(n):
        yield k
#-- tests
sum(f(60_000)) == 1799970000
#-- wrong
def f(n):
    for k in range(n):
        yield k + 1

#== iterator_class_of_many | slow
class Count:
    def __init__(self, n):
        self.left = n
    def __iter__(self):
        return self
    def __next__(self):
        if not self.left:
            raise StopIteration
        self.left -= 1
        return self.left
def f(n):
    return Count(n)
#-- tests
sum(1 for _ in f(30_000)) == 30_000
#-- wrong
def f(n):
    return iter(range(n - 1))

#== callbacks_by_the_ten_thousand | slow
def f(n, function):
    for k in range(n):
        function(k)
#-- tests
seen = []
f(10_000, seen.append)
len(seen) == 10_000 and seen[-1] == 9_999

count = 0
def tick(v):
    global count
    count += 1
f(10_000, tick)
count == 10_000
#-- wrong
def f(n, function):
    for k in range(n, 0, -1):
        function(k)

#== many_calls | slow
def f(x):
    return x * x
#-- tests
sum(f(k) for k in range(20_000)) == sum(k * k for k in range(20_000))

assert all(f(k) == k * k for k in range(5000))
#-- wrong
def f(x):
    return x * x if x < 4000 else 0

#== dictionary_of_many | slow
def f(n):
    return {str(k): [k, k + 1] for k in range(n)}
#-- tests
d = f(200_000)
len(d) == 200_000 and d["199999"] == [199999, 200000]
#-- wrong
def f(n):
    return {str(k): [k, k] for k in range(n)}

#== deep_nesting
def f(n):
    made = []
    for _ in range(n):
        made = [made]
    return made
#-- tests
x = f(300)
depth = 0
while x:
    x = x[0]
    depth += 1
depth == 300

x, depth = f(3000), 0
while x:
    x, depth = x[0], depth + 1
depth == 3000
#-- wrong
def f(n):
    made = []
    for _ in range(n - 1):
        made = [made]
    return made

#== long_linked_list
class Node:
    def __init__(self, value, following=None):
        self.value, self.following = value, following
def f(xs):
    head = None
    for x in reversed(xs):
        head = Node(x, head)
    return head
#-- tests
n, total = f(range(1000)), 0
while n:
    total, n = total + n.value, n.following
total == 499500
#-- wrong
class Node:
    def __init__(self, value, following=None):
        self.value, self.following = value, following
def f(xs):
    head = None
    for x in xs[:-1]:
        head = Node(x, head)
    return head

#== million_digits
def f(n):
    return 10 ** n
#-- tests
f(100_000).bit_length() == 332193 and f(100_000) % 7 == pow(10, 100_000, 7)
#-- wrong
def f(n):
    return 10 ** n + 1

#== large_array | slow | needs numpy
import numpy as np
def f(n):
    return np.arange(n, dtype=float)
#-- canonical
def f(n):
    return [float(k) for k in range(n)]
#-- tests
len(f(2_000_000)) == 2_000_000 and f(2_000_000)[-1] == 1999999.0

sum(f(1000)) == 499500
#-- wrong
import numpy as np
def f(n):
    return np.arange(1, n, dtype=float)
