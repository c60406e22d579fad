"""Which reviews of a pull request count: the latest one of each reviewer."""

from collections.abc import Iterable

from app_server.git_hosts.schemas import Review, ReviewVerdict


def latest_reviews(found: Iterable[tuple[str, ReviewVerdict | None, str | None]]) -> list[Review]:
    """Returns the latest review of each reviewer. A comment does not replace a verdict.

    `found`: author, verdict and text of each review, oldest first. A verdict of None: the review was
    dismissed, and the author's earlier ones with it.
    """
    latest: dict[str, Review] = {}
    for author, verdict, body in found:
        if verdict is None:
            latest.pop(author, None)
        elif verdict is not ReviewVerdict.COMMENTED or author not in latest:
            latest[author] = Review(author=author, verdict=verdict, body=body or "")
    return list(latest.values())
