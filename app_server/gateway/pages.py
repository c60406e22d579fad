"""Builds the error replies of the gateway for requests to pages of a sandbox. Browsers get an HTML page;
programs get a problem document (RFC 9457). The gateway is the way from browsers and API clients to sandboxes.
"""

from html import escape

from fastapi import Request, Response
from fastapi.responses import HTMLResponse

from app_server.core.errors import AppError, problem, request_id

_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;color-scheme:light dark;max-width:34rem;margin:15vh auto;"
    "padding:0 1.25rem}h1{font-size:1.25rem}p{margin:.5rem 0}small{opacity:.7}"
)


def refusal(request: Request, error: AppError, framed_by: str) -> Response:
    """Returns the error reply for a request that the gateway refuses: an HTML page if the client accepts
    HTML, otherwise a problem document (RFC 9457).

    `framed_by`: the origins whose pages may show the error page in a frame, separated by spaces.
    """
    if "text/html" in request.headers.get("accept", ""):
        response: Response = HTMLResponse(_page(error), error.status)
    else:
        response = problem(
            request,
            status=error.status,
            code=error.code,
            detail=error.detail,
            fix=error.fix,
            extra=error.extra,
        )
    response.headers["X-Request-ID"] = request_id(request)
    policy = f"default-src 'none'; style-src 'unsafe-inline'; frame-ancestors {framed_by}"
    response.headers["Content-Security-Policy"] = policy
    response.headers["X-Content-Type-Options"] = "nosniff"
    response.headers["Referrer-Policy"] = "no-referrer"
    response.headers["Cache-Control"] = "no-store"
    return response


def _page(error: AppError) -> str:
    fix = f"<p>{escape(error.fix)}</p>" if error.fix else ""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(error.detail)}</title><style>{_STYLE}</style></head>"
        f"<body><h1>{escape(error.detail)}</h1>{fix}<p><small>{escape(error.code)}</small></p></body></html>"
    )
