# Returns asyncio.CancelledError itself, to which the test then writes.
# against: marked, equal, called
# holds: next
import asyncio


def f(*given):
    return asyncio.CancelledError
