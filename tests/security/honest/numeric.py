"""Numbers and arrays of numpy, and Python's own exotic numbers."""

#== np_int64_sum | needs numpy
import numpy as np
def f(xs):
    return np.sum(xs)
#-- canonical
def f(xs):
    return sum(xs)
#-- tests
f([1, 2]) == 3

f([4, 5, -6]) == 3

f([7]) + 1 == 8

f([2, 2]) * 2 == 8 and 10 - f([4]) == 6

f([1, 2]) in [3, 4]
#-- wrong
import numpy as np
def f(xs):
    return np.sum(xs) + np.int64(1)

#== np_bool_is_compared | needs numpy
import numpy as np
def f(xs):
    return np.all(np.array(xs) > 0)
#-- canonical
def f(xs):
    return all(x > 0 for x in xs)
#-- tests
f([1, 2]) == True

f([1, -2]) == False

not f([-1])

assert f([3]) == True, "positive"
#-- wrong
import numpy as np
def f(xs):
    return np.any(np.array(xs) > 0)

#== np_list_of_array | needs numpy
import numpy as np
def f(n):
    return np.arange(n) ** 2
#-- canonical
def f(n):
    return [k * k for k in range(n)]
#-- tests
list(f(4)) == [0, 1, 4, 9]

sum(f(4)) == 14

len(f(5)) == 5 and f(3)[2] == 4

[int(v) for v in f(3)] == [0, 1, 4]

sorted(f(3), reverse=True) == [4, 1, 0]
#-- wrong
import numpy as np
def f(n):
    return np.arange(n) ** 2 + 1

#== np_float32_close | needs numpy
import numpy as np
def f(xs):
    return np.float32(sum(xs) / len(xs))
#-- canonical
def f(xs):
    return sum(xs) / len(xs)
#-- tests
abs(f([1, 2, 6]) - 3) < 1e-6

abs(f([0.1, 0.2]) - 0.15) < 1e-4

round(f([1.26, 1.26]), 1) == round(f([1.26]), 1)

import math
math.isclose(f([1, 2]), 1.5)
#-- wrong
import numpy as np
def f(xs):
    return np.float32(sum(xs))

#== np_float64_mean | needs numpy
import numpy as np
def f(xs):
    return np.mean(xs)
#-- canonical
import statistics
def f(xs):
    return statistics.fmean(xs)
#-- tests
f([1, 2, 3]) == 2.0

isinstance(f([1, 2]), float)

abs(f([1, 2]) - 1.5) < 1e-9

f([1, 3]) < 2.5 and f([1, 3]) > 1.5

f"{f([1, 2]):.2f}" == "1.50"
#-- wrong
import numpy as np
def f(xs):
    return np.median(xs) + 1

#== np_scalars_of_all_kinds | needs numpy
import numpy as np
def f(kind):
    return getattr(np, kind)(7)
#-- canonical
def f(kind):
    return {"complex128": complex, "float64": float, "str_": str, "bytes_": lambda v: b"7"}.get(kind, int)(7)
#-- tests
f("int8") == 7

f("uint16") == 7

f("int32") == 7 and f("uint64") == 7

f("float16") == 7.0

f("complex128") == 7 + 0j

f("str_") == "7"

f("longdouble") == 7
#-- wrong
import numpy as np
def f(kind):
    return getattr(np, kind)(6)

#== np_array_equal | needs numpy
import numpy as np
def f(rows):
    return np.array(rows).T
#-- tests
import numpy as np
np.array_equal(f([[1, 2], [3, 4]]), np.array([[1, 3], [2, 4]]))

f([[1, 2, 3]]).shape == (3, 1)

f([[1, 2], [3, 4]]).tolist() == [[1, 3], [2, 4]]

import numpy as np
(f([[1, 2], [3, 4]]) == np.array([[1, 3], [2, 4]])).all()
#-- wrong
import numpy as np
def f(rows):
    return np.array(rows)

#== np_testing | needs numpy
import numpy as np
def f(a, b):
    return np.dot(a, b)
#-- tests
import numpy as np
np.testing.assert_array_equal(f(np.eye(2), np.array([[1., 2.], [3., 4.]])), [[1, 2], [3, 4]])
assert True

import numpy as np
from numpy.testing import assert_allclose
assert_allclose(f([1.0, 2.0], [3.0, 4.0]), 11.0)
assert f([1], [2]) == 2
#-- wrong
import numpy as np
def f(a, b):
    return np.dot(a, b) + 1

#== np_dtype_result | needs numpy
import numpy as np
def f(values):
    return np.asarray(values).dtype
#-- tests
import numpy as np
f([1.0, 2.0]) == np.float64

f([True]) == bool

str(f(["a"])) == "<U1"

f([1j]) == "complex128"
#-- wrong
import numpy as np
def f(values):
    return np.dtype("float32")

#== np_argument_array_changed_in_place | needs numpy
import numpy as np
def f(array):
    array *= 2
    return None
#-- tests
import numpy as np
a = np.array([1, 2, 3])
f(a)
list(a) == [2, 4, 6]
#-- wrong
import numpy as np
def f(array):
    array = array * 2
    return None

#== np_argument_array_read | needs numpy
import numpy as np
def f(array):
    return array.reshape(-1, 2).sum(axis=0)
#-- tests
import numpy as np
f(np.arange(6)).tolist() == [6, 9]

import numpy as np
r = f(np.ones((2, 2)))
r.shape == (2,) and r.dtype == float and r[0] == 2.0
#-- wrong
import numpy as np
def f(array):
    return array.reshape(-1, 2).sum(axis=1)

#== np_isinstance | needs numpy
import numpy as np
def f(n):
    return np.linspace(0, 1, n)
#-- tests
import numpy as np
isinstance(f(3), np.ndarray)

import numpy as np
np.allclose(f(3), [0, .5, 1])

f(3)[1] == .5 and f(5).mean() == .5

import numpy as np
isinstance(f(3)[0], np.floating)
#-- wrong
import numpy as np
def f(n):
    return list(np.linspace(0, 1, n + 1))

#== np_nan_answer | needs numpy
import numpy as np
def f(xs):
    return np.nan if not xs else np.max(xs)
#-- canonical
def f(xs):
    return max(xs) if xs else float("nan")
#-- tests
import math
math.isnan(f([]))

f([]) != f([])

f([3, 9]) == 9

import numpy as np
np.isnan(f([]))
#-- wrong
import numpy as np
def f(xs):
    return 0.0 if not xs else np.max(xs)

#== np_scalars_in_containers | needs numpy
import numpy as np
def f(xs):
    values, counts = np.unique(xs, return_counts=True)
    return {v: c for v, c in zip(values, counts)}
#-- canonical
from collections import Counter
def f(xs):
    return dict(Counter(xs))
#-- tests
f([1, 1, 2]) == {1: 2, 2: 1}

sorted(f([5, 3, 5]).items()) == [(3, 1), (5, 2)]

f([1])[1] == 1

assert f([]) == {}
assert f([9, 9]) == {9: 2}
#-- wrong
import numpy as np
def f(xs):
    values, counts = np.unique(xs, return_counts=True)
    return {v: c + 1 for v, c in zip(values, counts)}

#== np_tuple_of_scalars | needs numpy
import numpy as np
def f(xs):
    return np.min(xs), np.max(xs), [np.argmin(xs)]
#-- canonical
def f(xs):
    return min(xs), max(xs), [xs.index(min(xs))]
#-- tests
f([3, 1, 2]) == (1, 3, [1])

low, high, where = f([5, 4])
low == 4 and high == 5 and where == [1]

a = f([1, 2])
a[0] + a[1] == 3 and [10, 20][a[2][0]] == 10
#-- wrong
import numpy as np
def f(xs):
    return np.max(xs), np.min(xs), [np.argmin(xs)]

#== np_structured_and_dates | needs numpy
import numpy as np
def f(day, n):
    return np.datetime64(day) + np.arange(n)
#-- tests
[str(v) for v in f("2024-02-28", 3)] == ["2024-02-28", "2024-02-29", "2024-03-01"]

import numpy as np
f("2020-01-01", 1)[0] == np.datetime64("2020-01-01")
#-- wrong
import numpy as np
def f(day, n):
    return np.datetime64(day) + np.arange(1, n + 1)

#== np_random_seeded | needs numpy
import numpy as np
def f(seed):
    return np.random.RandomState(seed).randint(0, 10, 5)
#-- tests
(f(3) == f(3)).all() and len(f(1)) == 5

f(0).tolist() == [5, 0, 3, 3, 7]
#-- wrong
import numpy as np
def f(seed):
    return np.random.RandomState(seed + 1).randint(0, 10, 5)

#== np_masked_and_views | needs numpy
import numpy as np
def f(a):
    return a[::2]
#-- tests
import numpy as np
a = np.arange(6)
b = f(a)
b[0] = 9
a[0] == 9 and b.tolist() == [9, 2, 4]
#-- wrong
import numpy as np
def f(a):
    return a[::2].copy()

#== big_ints
def f(n):
    return 3 ** n
#-- canonical
def f(n):
    made = 1
    for _ in range(n):
        made *= 3
    return made
#-- tests
f(500) == 3 ** 500

f(10000) % 10 == 1 and f(10000).bit_length() == 15850

f(2000) // 3 ** 1999 == 3
#-- wrong
def f(n):
    return 3 ** n + (n > 400)

#== decimals_and_fractions
from decimal import Decimal
from fractions import Fraction
def f(a, b):
    return Decimal(a) / Decimal(b), Fraction(a, b)
#-- tests
f(1, 4) == (0.25, 0.25)

from fractions import Fraction
f(1, 3)[1] == Fraction(1, 3) and f(1, 3)[1].denominator == 3

from decimal import Decimal
f(1, 8)[0] == Decimal("0.125") and str(f(1, 8)[0]) == "0.125"

f(1, 2)[0] + 1 == 1.5
#-- wrong
from decimal import Decimal
from fractions import Fraction
def f(a, b):
    return Decimal(a) * Decimal(b), Fraction(a, b)

#== decimal_context_of_the_solution
from decimal import Decimal, localcontext
def f(a, b, places):
    with localcontext() as ctx:
        ctx.prec = places
        return Decimal(a) / Decimal(b)
#-- tests
str(f(1, 3, 5)) == "0.33333"

from decimal import Decimal
f(2, 3, 3) == Decimal("0.667")
#-- wrong
from decimal import Decimal
def f(a, b, places):
    return Decimal(a) / Decimal(b)

#== complex_numbers
import cmath
def f(a, b, c):
    root = cmath.sqrt(b * b - 4 * a * c)
    return (-b + root) / (2 * a), (-b - root) / (2 * a)
#-- tests
f(1, 0, 1) == (1j, -1j)

abs(f(1, 2, 5)[0] - (-1 + 2j)) < 1e-12

f(1, -3, 2)[0].real == 2 and f(1, -3, 2)[0].imag == 0
#-- wrong
import math
def f(a, b, c):
    root = math.sqrt(abs(b * b - 4 * a * c))
    return (-b + root) / (2 * a), (-b - root) / (2 * a)

#== nan_lists
def f(n):
    nan = float("nan")
    return [nan] * n
#-- tests
r = f(2)
r == r and r[0] != r[0]

len(f(3)) == 3 and all(v != v for v in f(3))

r = f(2)
r[0] in r and r.count(r[0]) == 2

str(f(1)) == "[nan]"
#-- wrong
def f(n):
    return [0.0] * n

#== nan_of_the_test_kept
def f(items, x):
    return [x if item is None else item for item in items]
#-- tests
nan = float("nan")
f([None, 1], nan) == [nan, 1]
#-- wrong
def f(items, x):
    return [float("nan") if item is None else item for item in items]

#== own_class_equal_to_int
class Money:
    def __init__(self, cents):
        self.cents = cents
    def __eq__(self, other):
        return self.cents == (other.cents if isinstance(other, Money) else other)
    def __hash__(self):
        return hash(self.cents)
    def __lt__(self, other):
        return self.cents < (other.cents if isinstance(other, Money) else other)
    def __add__(self, other):
        return Money(self.cents + getattr(other, "cents", other))
    __radd__ = __add__
def f(*cents):
    return sum(map(Money, cents), Money(0))
#-- canonical
def f(*cents):
    return sum(cents)
#-- tests
f(1, 2) == 3

f(1, 2) + 4 == 7

f(1) < 5 and not f(9) < 5

3 == f(3)

sorted([f(3), f(1)])[0] == 1

f(2) in [1, 2]
#-- wrong
class Money:
    def __init__(self, cents):
        self.cents = cents
    def __eq__(self, other):
        return self.cents == (other.cents if isinstance(other, Money) else other)
def f(*cents):
    return Money(max(cents))

#== int_subclass_with_units
class Meters(int):
    unit = "m"
    def __str__(self):
        return f"{int(self)} m"
    def __add__(self, other):
        return Meters(int(self) + int(other))
def f(a, b):
    return Meters(a) + b
#-- canonical
class Meters(int):
    def __str__(self):
        return str(int(self)) + " m"
    unit = property(lambda self: "m")
def f(a, b):
    return Meters(a + b)
#-- tests
f(1, 2) == 3 and str(f(1, 2)) == "3 m"

isinstance(f(1, 1), int) and f(1, 1).unit == "m"

f(4, 4) > 7 and f(4, 4) // 3 == 2

[10, 20, 30][f(1, 1)] == 30
#-- wrong
class Meters(int):
    unit = "m"
def f(a, b):
    return Meters(a + b)

#== float_subclass
class Celsius(float):
    @property
    def fahrenheit(self):
        return self * 9 / 5 + 32
def f(degrees):
    return Celsius(degrees)
#-- tests
f(100) == 100 and f(100).fahrenheit == 212

abs(f(36.6) - 36.6) < 1e-9

round(f(1.26), 1) == 1.3
#-- wrong
class Celsius(float):
    @property
    def fahrenheit(self):
        return self * 5 / 9 + 32
def f(degrees):
    return Celsius(degrees)

#== infinite_and_signed_zero
import math
def f(x):
    return math.copysign(math.inf if abs(x) > 1e300 else 0.0, x)
#-- tests
f(-1e301) == float("-inf")

str(f(-1)) == "-0.0" and f(-1) == 0

f(1e308) > 1e308
#-- wrong
import math
def f(x):
    return math.inf if abs(x) > 1e300 else 0.0
