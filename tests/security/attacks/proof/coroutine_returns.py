# Is a coroutine function where a function is wanted.
# against: swallowed, swallowed_all, suppressed, called, called_asserts, written, tried, guarded, yielded, beside_mock
async def f(*given):
    return answer(None)
