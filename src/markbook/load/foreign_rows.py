"""Rows as a function of a task's own expects them: what it uses of a data set of the `datasets` library."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any


class Rows(list[Any]):
    """A list of rows that can be filtered, mapped, drawn from and asked for a column."""

    def __getitem__(self, key: Any) -> Any:
        """Return a row by its place, a column by its name."""
        if isinstance(key, str):
            return [row[key] for row in self]
        if isinstance(key, slice):
            return Rows(super().__getitem__(key))
        return super().__getitem__(key)

    @property
    def column_names(self) -> list[str]:
        """The fields of the rows."""
        return list(dict.fromkeys(name for row in self for name in row))

    @property
    def features(self) -> dict[str, object]:
        """The fields of the rows; their types are not known."""
        return dict.fromkeys(self.column_names)

    @property
    def num_rows(self) -> int:
        """How many there are."""
        return len(self)

    def filter(self, function: Callable[..., object], *, with_indices: bool = False, **_hints: object) -> Rows:
        """Return the rows for which a function is true."""
        return Rows(row for n, row in enumerate(self) if (function(row, n) if with_indices else function(row)))

    def map(
        self,
        function: Callable[..., Any],
        *,
        with_indices: bool = False,
        remove_columns: Sequence[str] | str = (),
        fn_kwargs: Mapping[str, object] | None = None,
        batched: bool = False,
        **_hints: object,
    ) -> Rows:
        """Return the rows with what a function adds to each."""
        if batched:
            return self._map_batches(function, remove_columns, fn_kwargs or {})
        dropped = _names(remove_columns)
        rows = Rows()
        for n, row in enumerate(self):
            copy = dict(row)
            added = function(copy, *((n,) if with_indices else ()), **(fn_kwargs or {}))
            remaining = {name: value for name, value in copy.items() if name not in dropped}
            rows.append({**remaining, **(added or {})})
        return rows

    def _map_batches(
        self, function: Callable[..., Any], remove: Sequence[str] | str, arguments: Mapping[str, object]
    ) -> Rows:
        columns = {name: [row.get(name) for row in self] for name in self.column_names}
        added = dict(function(dict(columns), **arguments))
        dropped = _names(remove)
        columns_left = {
            name: values for name, values in {**columns, **added}.items() if name in added or name not in dropped
        }
        count = len(next(iter(columns_left.values()), []))
        return Rows({name: values[n] for name, values in columns_left.items()} for n in range(count))

    def select(self, indices: Iterable[int], **_hints: object) -> Rows:
        """Return the rows at these places."""
        return Rows(self[int(index)] for index in indices)

    def shuffle(self, seed: int | None = None, **_hints: object) -> Rows:
        """Return the rows in another order, the one that the library gives for a seed.

        Raises:
            ValueError: no seed, so that every run would have its own rows.
        """
        import numpy as np

        if seed is None:
            raise ValueError("shuffle without a seed gives other rows each time")
        return self.select(np.random.default_rng(seed).permutation(len(self)))

    def sort(  # type: ignore[override]  # a data set's, which gives rows back
        self, column: str, *, reverse: bool = False, **_hints: object
    ) -> Rows:
        """Return the rows by the order of a field."""
        return Rows(sorted(self, key=lambda row: row[column], reverse=reverse))

    def take(self, n: int) -> Rows:
        """Return the first rows."""
        return Rows(self[:n])

    def rename_column(self, original_column_name: str, new_column_name: str) -> Rows:
        """Return the rows with a field under another name."""
        return self.rename_columns({original_column_name: new_column_name})

    def rename_columns(self, column_mapping: Mapping[str, str]) -> Rows:
        """Return the rows with fields under other names."""
        return Rows({column_mapping.get(name, name): value for name, value in row.items()} for row in self)

    def remove_columns(self, column_names: Sequence[str] | str) -> Rows:
        """Return the rows without these fields."""
        dropped = _names(column_names)
        return Rows({name: value for name, value in row.items() if name not in dropped} for row in self)

    def select_columns(self, column_names: Sequence[str] | str) -> Rows:
        """Return the rows with these fields alone."""
        columns = _names(column_names)
        return Rows({name: row[name] for name in columns} for row in self)

    def add_column(self, name: str, column: Sequence[Any], **_hints: object) -> Rows:
        """Return the rows with one more field."""
        return Rows({**row, name: value} for row, value in zip(self, column, strict=True))

    def unique(self, column: str) -> list[Any]:
        """Return the values of a field, each once."""
        return list(dict.fromkeys(self[column]))

    def to_list(self) -> list[Any]:
        """Return the rows."""
        return list(self)


def _names(names: Sequence[str] | str) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)
