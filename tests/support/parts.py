"""Results of many attempts, made a part at a time, so that each test has time enough for its own."""


class Parts:
    """The results by their keys; the first test that asks for one has those beside it made too."""

    def __init__(self, wanted, run, size=40):
        """Take all keys that may be asked for, and what makes a list of keys a dictionary of results."""
        self._wanted, self._run, self._size = sorted(wanted), run, size
        self._results = {}

    def __getitem__(self, key):
        """Return a result."""
        if key not in self._results:
            start = self._wanted.index(key) // self._size * self._size
            self._results |= self._run(self._wanted[start : start + self._size])
        return self._results[key]
