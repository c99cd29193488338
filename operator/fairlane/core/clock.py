"""Instants of the status: RFC 3339 in UTC, to the second."""

import datetime

_FORM = "%Y-%m-%dT%H:%M:%SZ"


def text(moment: datetime.datetime) -> str:
    """Return the instant as status holds it."""
    return moment.astimezone(datetime.UTC).strftime(_FORM)


def moment(stored: str) -> datetime.datetime:
    """Return the instant that status holds."""
    return datetime.datetime.fromisoformat(stored)


def since(stored: str | None, now: datetime.datetime) -> float:
    """Seconds from a stored instant until now; 0 where there is none or it lies ahead."""
    if stored is None:
        return 0.0
    return max(0.0, (now - moment(stored)).total_seconds())


def short(seconds: float) -> str:
    """A length of time as people read it, to the second: for events and records."""
    whole = round(seconds)
    if whole < 120:
        return f"{whole}s"
    minutes, rest = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}h{minutes}m" if hours else f"{minutes}m{rest}s" if rest else f"{minutes}m"
