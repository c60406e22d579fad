"""Encrypted cookies that store the state of a sign-in at another site, such as a git host. Only the browser
that began the sign-in has the cookie.
"""

from dataclasses import dataclass
from datetime import timedelta

from starlette.requests import HTTPConnection
from starlette.responses import Response

from app_server.core.config import Config


@dataclass(frozen=True)
class EncryptedCookie:
    """A cookie whose value the caller has encrypted. The class reads, sets and removes the cookie, but does
    not encrypt or decrypt. `name`: the cookie's name without the prefix `__Host-`.
    """

    name: str
    lifetime: timedelta

    def read(self, request: HTTPConnection, config: Config) -> str | None:
        """Returns the value of the cookie in a request, which is still encrypted. Returns None if the request
        has no such cookie.
        """
        return request.cookies.get(self._full_name(config))

    def keep(self, value: str, reply: Response, config: Config) -> None:
        """Sets the cookie in the HTTP response `reply`, so that the browser stores `value`. The caller has
        encrypted `value`.
        """
        reply.set_cookie(
            self._full_name(config),
            value,
            max_age=int(self.lifetime.total_seconds()),
            httponly=True,
            # The other site's page leads back here. With "strict", browsers would not send the cookie then.
            samesite="lax",
            secure=_is_https(config),
        )

    def forget(self, reply: Response, config: Config) -> None:
        """Makes the response `reply` remove this cookie from the browser. The caller does this when the
        sign-in ends, because each sign-in can be completed only once.
        """
        reply.delete_cookie(self._full_name(config), httponly=True, samesite="lax", secure=_is_https(config))

    def _full_name(self, config: Config) -> str:
        """Returns the cookie's name. Over HTTPS the name has the prefix `__Host-`, so that browsers do not
        let pages of subdomains set the cookie.
        """
        return f"__Host-{self.name}" if _is_https(config) else self.name


def _is_https(config: Config) -> bool:
    return config.base_url.startswith("https:")
