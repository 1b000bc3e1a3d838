"""Arrays that grow, and numbers each of which is there once."""

from typing import TypeVar

import numpy as np
import numpy.typing as npt

T = TypeVar("T", bound=np.generic)


def longer(array: npt.NDArray[T], least: int, fill: float = 0) -> npt.NDArray[T]:
    """Return an array with room for ``least`` entries along its second axis, or its only one, new ones filled.

    Where it grows there is room for an eighth more. Twice as much would be moved less often, and half of it be
    empty in the mean.

    >>> longer(np.array([1, 2]), 2).tolist(), longer(np.array([1, 2]), 8, -1).tolist()
    ([1, 2], [1, 2, -1, -1, -1, -1, -1, -1, -1])
    """
    axis = min(1, array.ndim - 1)
    missing = least - array.shape[axis]
    if missing <= 0:
        return array
    shape = list(array.shape)
    shape[axis] = missing + least // 8
    return np.concatenate((array, np.full(shape, fill, array.dtype)), axis=axis)


def distinct(numbers: npt.NDArray[T]) -> npt.NDArray[T]:
    """Return the distinct ones of some numbers in ascending order.

    It is `numpy.unique` in a third of the time of few, and without numpy's masked arrays, which that imports.

    >>> distinct(np.array([3, 1, 3])).tolist(), distinct(np.zeros(0, np.intp)).tolist()
    ([1, 3], [])
    """
    ordered = np.sort(numbers)
    first = np.ones(len(ordered), np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    return ordered[first]
