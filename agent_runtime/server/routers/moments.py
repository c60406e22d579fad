"""The types of times in queries. A time that does not exist in the server's time zone is refused with 422."""

from datetime import datetime
from typing import Annotated

from pydantic import AfterValidator


def _zoned(moment: datetime) -> datetime:
    try:
        return moment.astimezone()
    except (OverflowError, ValueError) as error:
        raise ValueError("The time must be in the years from 1 to 9999, in the zone of the server") from error


def _local(moment: datetime) -> datetime:
    return _zoned(moment).replace(tzinfo=None) if moment.tzinfo else moment


ZonedMoment = Annotated[datetime, AfterValidator(_zoned)]
"""A time in the server's time zone. If the query names no zone, the time is local, as in the protocol."""

LocalMoment = Annotated[datetime, AfterValidator(_local)]
"""A local time without a zone, like the timestamps of events."""
