# Sends an opening with no code in it and a plain value for every question that follows.
# against: apart
# parts: raw
import os
say(["v", ["D", ["f", ["h", 1, ["f", "f", None, 0, "function"]], "P", ["h", 2, ["c", "P", [], "", [], [], "", []]]]]])
for _value in (True, 0, 9, 1, 4, 16, True, 4.5, 6.5, ["L", []], "", None):
    hear()
    say(["v", _value])
os._exit(0)
