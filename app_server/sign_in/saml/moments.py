"""Parses the times in messages of SAML providers, for example the time until which a message is valid."""

from datetime import UTC, datetime


def moment_of(text: str) -> datetime:
    """Parses a time of a SAML document. A time without a zone is in UTC. Raises ValueError if the text is not
    a time in the format of SAML.
    """
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
