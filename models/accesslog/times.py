"""Points in time as log formats spell them."""

from datetime import date

from models.accesslog.entry import LogLineError

MONTHS = {
    **{"Jan": 1, "Feb": 2, "Mar": 3, "Apr": 4, "May": 5, "Jun": 6},
    **{"Jul": 7, "Aug": 8, "Sep": 9, "Oct": 10, "Nov": 11, "Dec": 12},
}
_EPOCH = date(1970, 1, 1).toordinal()


def seconds_of(year: int, month: int, day: int, hour: int, minute: int, second: int, zone: str = "Z") -> float:
    """Return a local time in seconds since the epoch; ``zone`` is "Z", "+0200" or "+02:00".

    Raises `LogLineError` for a day that there is not.

    >>> seconds_of(2015, 5, 17, 12, 5, 3, "+0200")
    1431857103.0
    """
    try:
        days = date(year, month, day).toordinal() - _EPOCH
    except ValueError as error:
        raise LogLineError("no such day") from error
    local = days * 86400 + hour * 3600 + minute * 60 + second
    if zone in ("Z", "+0000"):
        return float(local)
    offset = int(zone[1:3]) * 3600 + int(zone[-2:]) * 60
    return float(local + offset if zone[0] == "-" else local - offset)
