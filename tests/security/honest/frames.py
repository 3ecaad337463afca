"""Objects of pandas."""

#== pd_frame_by_parts | needs pandas
import pandas as pd
def f(rows):
    return pd.DataFrame(rows, columns=["name", "n"])
#-- tests
list(f([("a", 1), ("b", 2)])["n"]) == [1, 2]

f([("a", 1)]).shape == (1, 2) and list(f([]).columns) == ["name", "n"]

f([("a", 1), ("b", 5)])["n"].sum() == 6

f([("a", 1)]).to_dict("records") == [{"name": "a", "n": 1}]

import pandas as pd
isinstance(f([]), pd.DataFrame)
#-- wrong
import pandas as pd
def f(rows):
    return pd.DataFrame([(a, b + 1) for a, b in rows], columns=["name", "n"])

#== pd_testing | needs pandas
import pandas as pd
def f(frame):
    return frame.groupby("k", as_index=False)["v"].sum()
#-- tests
import pandas as pd
pd.testing.assert_frame_equal(f(pd.DataFrame({"k": ["a", "a", "b"], "v": [1, 2, 3]})), pd.DataFrame({"k": ["a", "b"], "v": [3, 3]}))
assert True

import pandas as pd
from pandas.testing import assert_series_equal
assert_series_equal(f(pd.DataFrame({"k": ["a", "a"], "v": [1, 2]}))["v"], pd.Series([3], name="v"))
assert True
#-- wrong
import pandas as pd
def f(frame):
    return frame.groupby("k", as_index=False)["v"].max()

#== pd_series_result | needs pandas
import pandas as pd
def f(xs):
    return pd.Series(xs).rolling(2).mean()
#-- tests
f([1, 3, 5]).tolist()[1:] == [2.0, 4.0]

import pandas as pd
f([1, 2]).equals(pd.Series([float("nan"), 1.5]))

f([1, 3]).iloc[1] == 2 and f([1, 2]).isna().sum() == 1
#-- wrong
import pandas as pd
def f(xs):
    return pd.Series(xs).rolling(2).sum()

#== pd_scalar_where_a_number_was_right | needs pandas
import pandas as pd
def f(xs):
    return pd.Series(xs).sum()
#-- canonical
def f(xs):
    return sum(xs)
#-- tests
f([1, 2, 3]) == 6

f([0.5, 0.25]) == 0.75

f([2]) + 1 == 3
#-- wrong
import pandas as pd
def f(xs):
    return pd.Series(xs).sum() + 1

#== pd_frame_of_the_test_changed | needs pandas
def f(frame):
    frame["total"] = frame["a"] + frame["b"]
    return frame
#-- tests
import pandas as pd
d = pd.DataFrame({"a": [1, 2], "b": [10, 20]})
f(d) is d and list(d["total"]) == [11, 22]

import pandas as pd
d = pd.DataFrame({"a": [1], "b": [1]})
f(d)
"total" in d.columns
#-- wrong
def f(frame):
    return frame.assign(total=frame["a"] + frame["b"])

#== pd_timestamps | needs pandas
import pandas as pd
def f(day, n):
    return pd.date_range(day, periods=n)
#-- tests
[d.strftime("%m-%d") for d in f("2024-02-28", 3)] == ["02-28", "02-29", "03-01"]

import pandas as pd
f("2024-01-01", 1)[0] == pd.Timestamp("2024-01-01") and len(f("2024-01-01", 5)) == 5
#-- wrong
import pandas as pd
def f(day, n):
    return pd.date_range(day, periods=n, freq="2D")
