"""Formats durations for people."""


def format_duration(seconds: float) -> str:
    """Returns the duration as text, for example `1h 02m 05s`. Leading zero units are left out."""
    hours, rest = divmod(seconds, 3600)
    minutes, rest = divmod(rest, 60)
    seconds = round(rest)
    if hours:
        return f"{int(hours)}h {int(minutes):02d}m {seconds:02d}s"
    if minutes:
        return f"{int(minutes)}m {seconds:02d}s"
    return f"{seconds}s"
