# Is a generator where a function is wanted: nothing of it is ever executed.
# against: swallowed, swallowed_all, suppressed, called, called_asserts, written, tried, guarded, beside_mock
def f(*given):
    yield answer(None)
