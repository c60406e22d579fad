"""Selects the latest review of each reviewer of a pull request. Slipway ignores earlier reviews."""

from collections.abc import Iterable

from app_server.git_hosts.schemas import Review, ReviewVerdict


def latest_reviews(found: Iterable[tuple[str, ReviewVerdict | None, str | None]]) -> list[Review]:
    """Returns the latest review of each reviewer. Exception: a later review that only comments does not
    replace an approval or a request for changes of the same reviewer.

    `found`: the author, the verdict and the text of each review, oldest first. The verdict None means that
    the author's reviews up to this one were dismissed. Then only the author's later reviews count.
    """
    latest: dict[str, Review] = {}
    for author, verdict, body in found:
        if verdict is None:
            latest.pop(author, None)
        elif verdict is not ReviewVerdict.COMMENTED or author not in latest:
            latest[author] = Review(author=author, verdict=verdict, body=body or "")
    return list(latest.values())
