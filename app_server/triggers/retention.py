"""Deletes old webhook deliveries of git hosts from the database."""

from datetime import timedelta
from typing import Final

from sqlalchemy import delete

from app_server.core.database import Database, now
from app_server.core.jobs.policy import Handler, JobAttempt
from app_server.triggers.models import TriggerDelivery

KIND: Final = "triggers.forget_old"
EVERY: Final = timedelta(hours=6)
RETENTION: Final = timedelta(days=30)


def forgetter(database: Database) -> Handler:
    """Returns the handler (function) of the background job that deletes all webhook deliveries older than 30
    days.
    """

    async def forget_old(_attempt: JobAttempt) -> None:
        async with database.session() as session:
            await session.execute(
                delete(TriggerDelivery).where(TriggerDelivery.created_at < now() - RETENTION)
            )

    return forget_old
