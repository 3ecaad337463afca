# Sends an opening reply whose keys are no names: numbers, tuples, values that are equal to everything.
# against: apart
# parts: raw
say(["v", ["D", [1, 2, ["T", []], 3, None, 4, "f", 5, ["h", 1, ["i", ["h", 2, ["c", "str", [], "str", ["__eq__", "__hash__"], ["__eq__"], "", []]], ["f"]]], 6]]])
