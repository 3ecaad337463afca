"""NumPy's arrays and scalars as values: their bytes, with what they are made of. Imported only where one is met."""

from __future__ import annotations

import sys

from .library_values import Malformed, Uncrossable, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_KINDS = "biufcmMSU"
"""The kinds of data type whose bytes are the whole value."""


def is_array(value: Any) -> bool:
    """Whether this is an array of NumPy's own."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and type(value) is getattr(numpy, "ndarray", None)


def put_array(value: Any, kind: type) -> list[Any] | None:
    """Return the wire form of an array or a scalar; None for one that is more than its bytes."""
    numpy = sys.modules["numpy"]
    scalar = issubclass(kind, numpy.generic) and getattr(numpy, kind.__name__, None) is kind
    if not (scalar or kind is numpy.ndarray) or value.dtype.kind not in _KINDS or not value.dtype.itemsize:
        return None
    shape = None if scalar else list(value.shape)
    return ["A", value.dtype.str, shape, value.tobytes().hex()]


def get_array(form: list[Any]) -> Any:
    """Return the array or the scalar of a wire form.

    Raises:
        Malformed: it is none.
    """
    import numpy as np

    if len(form) != 4:
        raise Malformed("no array")
    dtype = np.dtype(text_of(form))
    shape, data = form[2], bytes.fromhex(text_of(form, 3))
    if dtype.kind not in _KINDS or not dtype.itemsize or dtype.names is not None or dtype.subdtype is not None:
        raise Malformed("no data type of an array's")
    array_data = np.frombuffer(data, dtype)
    if shape is None:
        return array_data[0]
    if type(shape) is not list or not all(type(size) is int and size >= 0 for size in shape):
        raise Malformed("no shape")
    return array_data.reshape(shape).copy()


def refill_array(value: Any, form: Any) -> None:
    """Give an array what the other side wrote into it."""
    array = get_array(form)
    if array.shape != value.shape or array.dtype != value.dtype:
        raise Uncrossable("another array")
    try:
        value[...] = array
    except ValueError:
        raise Uncrossable("an array that is not to be written to") from None
