"""The behaviour graph: hubs and authorities among patterns, by what users did."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

_Vector = npt.NDArray[np.float64]
# The iteration ends when no score moved by more than this, or after so many steps.
_TOLERANCE = 1e-10
_STEPS = 1000


class Importance(NamedTuple):
    """The scores of each pattern, vectors of length 1 and shape (K,)."""

    authority: _Vector
    hub: _Vector


def importance(transitions: _Vector, visits: _Vector, referrals: _Vector) -> Importance:
    """Return authorities and hubs (Liu 2011, section 4.2, equations 9 and 10).

    ``transitions`` is F_trans, shape (K, K), ``visits`` F_in and ``referrals`` F_out of each pattern, (K,). An
    edge from j to i passes on j's hub score times F_trans(j, i) / F_out(j), and back i's authority times
    F_trans(j, i) / F_in(i); both are scaled to length 1 after each step. Where nothing leads anywhere the
    scores are those of the start, equation 9.

    Two steps multiply the authorities by a matrix that is similar to S'S with S = F_trans / sqrt(F_out F_in),
    element by element, so that they converge, to an eigenvector of its largest eigenvalue. Where every visit
    came from a page of the site, that is F_in itself, and the hubs F_out: the graph then says no more than the
    counts do (as SALSA, Lempel and Moran 2001).

    >>> from numpy import array
    >>> found = importance(array([[0.0, 2.0], [1.0, 0.0]]), array([1.0, 3.0]), array([2.0, 1.0]))
    >>> found.authority.round(3).tolist(), found.hub.round(3).tolist()
    ([1.0, 0.0], [0.0, 1.0])
    """
    into = transitions / np.maximum(visits, 1)[None, :]
    out = transitions / np.maximum(referrals, 1)[:, None]
    authority, hub = _unit(visits), _unit(referrals)
    if not transitions.any():
        return Importance(authority, hub)
    for _ in range(_STEPS):
        last = authority, hub
        authority, hub = _unit(out.T @ hub), _unit(into @ authority)
        if np.abs(authority - last[0]).max() < _TOLERANCE and np.abs(hub - last[1]).max() < _TOLERANCE:
            break
    return Importance(authority, hub)


def _unit(scores: _Vector) -> _Vector:
    length = float(np.linalg.norm(scores))
    return scores / length if length else np.zeros_like(scores, dtype=np.float64)
