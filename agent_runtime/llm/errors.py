"""The reasons why a request to a model fails. Only this module decides what the runtime does after each
failure. A run is the work of the agent from its start until it stops.

| error                      | kind         | what happens next                                           |
| -------------------------- | ------------ | ----------------------------------------------------------- |
| LLMRateLimitError          | rate_limit   | retries when the vendor allows it; then the fallback models |
| LLMServiceUnavailableError | transient    | retries after growing waits; then the fallback models       |
| LLMConnectionError         | transient    | retries after growing waits; then the fallback models       |
| LLMUnreachableError        | transient    | up to three retries; then the fallback models               |
| LLMTimeoutError            | transient    | retries after growing waits; then the fallback models       |
| LLMMalformedReplyError     | transient    | retries after growing waits; then the fallback models       |
| LLMAuthenticationError     | auth         | the run ends: the user corrects the key                     |
| LLMBudgetError             | quota        | the run ends: the user tops up the account                  |
| LLMSpendingLimitError      | quota        | the run pauses: the user raises the limit                   |
| LLMContextWindowError      | agent_action | the conversation is condensed, if it has a condenser        |
| LLMContentPolicyError      | agent_action | the run ends: the user words the request differently        |
| LLMBaseUrlError            | config       | the run ends: the user fixes the settings                   |
| LLMBadRequestError         | config       | the run ends: the user fixes the settings                   |
| LLMNotAvailableError       | config       | the run ends: the vendor's library is not installed here    |
| anything else              | internal     | the run ends: the server's log has the trace                |

If no attempt succeeds, the run ends with a ConversationErrorEvent, and the user may start it again. If the
model's server does not work at the moment (see `DOWN`), the run is paused instead. A tool call that cannot be
understood is not an error of these kinds: the model gets an error message and can try again.
"""

import re
from typing import ClassVar

from agent_runtime.events.errors import ErrorClassification, FailureKind, UserAction
from agent_runtime.metering.limits import (
    ADMINISTRATOR_LIMIT_REACHED,
    ADMINISTRATOR_LIMIT_WORDS,
    BUDGET_REACHED,
    CONVERSATION_LIMIT_WORDS,
    USER_LIMIT_WORDS,
)
from agent_runtime.vendors import UNREACHABLE, WRONG_BASE_URL

MAX_DETAIL_CHARS = 2000
MAX_SERVED_WAIT_SECONDS = 300
"""The longest wait, in seconds, that a vendor may ask for. If a vendor asks for a longer wait, the model is
not asked again, and the error is reported at once. Otherwise the agent would seem to do nothing.
"""

_CONTEXT_WORDS = re.compile(
    r"context.?(length|window|size)|maximum context|too many (input )?tokens|prompt is too long"
    r"|input is too long|exceeds? the (model's )?(maximum|limit).{0,40}token|reduce the length",
    re.IGNORECASE,
)
_POLICY_WORDS = re.compile(
    r"content.?(policy|filter|management)|safety (system|policy)|usage polic", re.IGNORECASE
)
_BUDGET_WORDS = re.compile(
    r"insufficient.?(quota|credit|balance|funds)|exceeded your current quota|credit balance is too low"
    r"|budget.{0,20}(exceeded|spent|reached)",
    re.IGNORECASE,
)
_LIMIT_WORDS = re.compile(f"({CONVERSATION_LIMIT_WORDS}|{USER_LIMIT_WORDS}|{ADMINISTRATOR_LIMIT_WORDS})[^(]*")


class LLMError(Exception):
    """The error that is raised when a request to a model failed. `kind`: the kind of failure. `is_retryable`:
    whether a retry can help. `user_action`: what the user can do.

    `max_retries`: the upper limit for the number of retries after this error. The model's configuration can
    set a lower number, but not a higher one.
    """

    kind: ClassVar[FailureKind] = "unknown"
    is_retryable: ClassVar[bool] = False
    max_retries: ClassVar[int] = 20
    user_action: ClassVar[UserAction] = "settings"

    def __init__(self, detail: str, *, retry_after_seconds: float | None = None) -> None:
        super().__init__(detail[: MAX_DETAIL_CHARS + 100])
        self.retry_after_seconds = retry_after_seconds

    @property
    def code(self) -> str:
        return type(self).__name__

    @property
    def classification(self) -> ErrorClassification:
        return ErrorClassification(kind=self.kind, retryable=self.is_retryable, user_action=self.user_action)


class LLMAuthenticationError(LLMError):
    kind = "auth"


class LLMBudgetError(LLMError):
    kind: ClassVar[FailureKind] = "quota"


class LLMSpendingLimitError(LLMBudgetError):
    """The error that is raised when the user's spending limit is reached. The app server's model gateway,
    through which the model calls go, checks this limit. `code`: the name of the limit.
    """

    @property
    def code(self) -> str:
        if CONVERSATION_LIMIT_WORDS in str(self):
            return BUDGET_REACHED
        return ADMINISTRATOR_LIMIT_REACHED if ADMINISTRATOR_LIMIT_WORDS in str(self) else super().code


class LLMBadRequestError(LLMError):
    kind: ClassVar[FailureKind] = "config"


class LLMBaseUrlError(LLMError):
    """The error that is raised when a server replies at the configured base URL, but this server is not a
    model server.
    """

    kind = "config"


class LLMContextWindowError(LLMBadRequestError):
    kind = "agent_action"


class LLMContentPolicyError(LLMError):
    kind = "agent_action"
    user_action = "none"


class LLMNotAvailableError(LLMError):
    kind = "config"


class _TransientError(LLMError):
    kind: ClassVar[FailureKind] = "transient"
    is_retryable = True
    user_action: ClassVar[UserAction] = "retry"


class LLMMalformedReplyError(_TransientError): ...


class LLMRateLimitError(_TransientError):
    kind = "rate_limit"


class LLMServiceUnavailableError(_TransientError): ...


class LLMConnectionError(_TransientError): ...


class LLMUnreachableError(LLMConnectionError):
    """The error that is raised when no server replies at the model's base URL: either the URL is wrong, or
    the server is still starting.
    """

    max_retries = 3
    user_action = "settings"


class LLMTimeoutError(_TransientError): ...


DOWN = frozenset(
    error.__name__
    for error in (
        LLMRateLimitError,
        LLMServiceUnavailableError,
        LLMConnectionError,
        LLMUnreachableError,
        LLMTimeoutError,
    )
)
"""The codes of errors after which the agent is paused, because these errors are over when the model's server
works again.
"""


def error_for_status(status: int, detail: str, *, retry_after_seconds: float | None = None) -> LLMError:
    """Returns the LLMError for an HTTP status of a model's server. `detail`: the server's error message.
    `retry_after_seconds`: the wait that the server asks for; None if it asks for none.
    """
    if limit := _LIMIT_WORDS.search(detail):
        return LLMSpendingLimitError(limit[0].strip())
    for code, error in _BY_CODE.items():
        if detail.endswith(f"({code})"):
            return error(detail.removesuffix(f"({code})").strip())
    text = f"The model's server answered HTTP {status}: {detail}"
    if retry_after_seconds is not None:
        text = f"{text[:MAX_DETAIL_CHARS]} (it asks to wait {retry_after_seconds:.0f} s)"
    return _class_for(status, detail)(text, retry_after_seconds=retry_after_seconds)


def error_of_kind(detail: str, status: object = None) -> LLMError:
    """Returns the LLMError for an error that a vendor reports inside a reply that began normally, with HTTP
    status 200. `detail`: the vendor's error message. `status`: the status that the error itself contains, if
    any.

    If `status` is an HTTP error status, returns the result of `error_for_status`. Otherwise, chooses the
    class of the error by the words in `detail`. If no words are known, returns LLMServiceUnavailableError.
    """
    if isinstance(status, int) and 400 <= status < 600:
        return error_for_status(status, detail)
    for words, error in _BY_WORDS:
        if words.search(detail):
            return error(detail)
    return LLMServiceUnavailableError(detail)


def _class_for(status: int, detail: str) -> type[LLMError]:
    if status >= 500:
        return LLMServiceUnavailableError
    if status == 401:
        return LLMAuthenticationError
    for words, error in _BY_WORDS:
        # The words of a 429 may look like a full context window. But a limit on tokens per minute ends by
        # itself.
        if words.search(detail) and not (status == 429 and error is not LLMBudgetError):
            return error
    return _BY_STATUS.get(status, LLMBadRequestError)


_BY_CODE: dict[str, type[LLMError]] = {
    UNREACHABLE: LLMUnreachableError,
    WRONG_BASE_URL: LLMBaseUrlError,
}

_BY_WORDS: tuple[tuple[re.Pattern[str], type[LLMError]], ...] = (
    (_CONTEXT_WORDS, LLMContextWindowError),
    (_BUDGET_WORDS, LLMBudgetError),
    (_POLICY_WORDS, LLMContentPolicyError),
)

_BY_STATUS: dict[int, type[LLMError]] = {
    402: LLMBudgetError,
    403: LLMAuthenticationError,
    408: LLMTimeoutError,
    409: LLMServiceUnavailableError,
    413: LLMContextWindowError,
    425: LLMServiceUnavailableError,
    429: LLMRateLimitError,
}
