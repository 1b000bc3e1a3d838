"""How fast a host was asked, as its server saw it."""

from collections.abc import Sequence

#: Seconds by which a request may reach the server late, on a busy machine; few are.
LATE_SECONDS = 2.0


def keeps(times: Sequence[float], delay: float) -> bool:
    """Return whether requests that reached the server at these times may have been sent ``delay`` apart.

    One that comes late makes the gap before the next one shorter. So each is taken to have been sent as late as
    the ones after it allow; half a delay late may be one in twenty, and none by more than `LATE_SECONDS`. A
    crawler that asks too soon again and again is later each time.

    >>> keeps([0.0, 1.0, 2.9, 3.1, 4.0], 1.0)
    True
    >>> keeps([number * 0.9 for number in range(30)], 1.0)
    False
    """
    late = []
    sent = float("inf")
    for time in reversed(times):
        sent = min(time, sent - delay)
        late.append(time - sent)
    hurried = sum(seconds > delay / 2 for seconds in late)
    return hurried <= 1 + len(late) // 20 and all(seconds <= LATE_SECONDS for seconds in late)
