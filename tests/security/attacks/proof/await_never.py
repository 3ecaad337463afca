# Returns an awaitable that ends the coroutine of the test rather than itself.
# against: async_main, async_gather, async_loop, awaited, beside_async
class Never:
    def __await__(self):
        raise GeneratorExit
        yield


def f(*given):
    return Never()
