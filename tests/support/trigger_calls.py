"""Functions of the trigger tests that wait: for a comment on the issue, and until all deliveries
are handled.
"""

from typing import Any

import httpx

from tests.support.server import wait_until
from tests.support.standing_host import LOGIN, StandingHost


def until_said(host: StandingHost, words: str) -> str:
    def found() -> str | None:
        return next((text for text in host.issues.texts(4, LOGIN) if words in text), None)

    wait_until(lambda: found() is not None, lambda: f"{words}: {host.issues.comments} {host.violations}")
    text = found()
    assert text is not None
    return text


def deliveries(client: httpx.Client, trigger: dict[str, Any]) -> list[dict[str, Any]]:
    def page() -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = client.get(f"/triggers/{trigger['id']}/deliveries").json()["items"]
        return found

    wait_until(lambda: all(one["state"] != "waiting" for one in page()), lambda: f"the deliveries: {page()}")
    return page()
