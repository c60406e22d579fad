"""Why a model could not be asked.

LLMError
├── LLMAuthenticationError          the key is missing or refused
├── LLMBudgetError                  the account or the budget is spent
├── LLMBadRequestError              the vendor does not accept the request
│   └── LLMContextWindowError       … because the conversation is too long for the model
├── LLMNotAvailableError            the vendor's library is not installed here
├── LLMMalformedReplyError          the reply is not in the protocol           (again)
├── LLMRateLimitError               too many requests                          (again)
├── LLMServiceUnavailableError      the vendor fails                           (again)
├── LLMConnectionError              the vendor cannot be reached               (again)
└── LLMTimeoutError                 the vendor takes too long                  (again)

Those marked (again) are tried again before they are raised.
"""

from typing import ClassVar

from agent_runtime.events.errors import ErrorClassification

MAX_DETAIL_CHARS = 2000
_CONTEXT_WORDS = ("context length", "context_length", "context window", "maximum context", "too many tokens")


class LLMError(Exception):
    """Asking the model failed."""

    kind: ClassVar[str] = "llm"
    is_retryable: ClassVar[bool] = False
    user_action: ClassVar[str] = "check_settings"

    def __init__(self, detail: str, *, retry_after_seconds: float | None = None) -> None:
        super().__init__(detail[:MAX_DETAIL_CHARS])
        self.retry_after_seconds = retry_after_seconds

    @property
    def code(self) -> str:
        return type(self).__name__

    @property
    def classification(self) -> ErrorClassification:
        return ErrorClassification(kind=self.kind, retryable=self.is_retryable, user_action=self.user_action)


class LLMAuthenticationError(LLMError):
    kind = "authentication"


class LLMBudgetError(LLMError):
    kind = "budget"
    user_action = "check_budget"


class LLMBadRequestError(LLMError):
    kind = "bad_request"


class LLMContextWindowError(LLMBadRequestError):
    kind = "context_window"
    user_action = "condense"


class LLMNotAvailableError(LLMError):
    kind = "configuration"


class _TransientError(LLMError):
    kind = "transient"
    is_retryable = True
    user_action = "retry"


class LLMMalformedReplyError(_TransientError): ...


class LLMRateLimitError(_TransientError):
    kind = "rate_limit"


class LLMServiceUnavailableError(_TransientError): ...


class LLMConnectionError(_TransientError): ...


class LLMTimeoutError(_TransientError): ...


def error_for_status(status: int, detail: str, *, retry_after_seconds: float | None = None) -> LLMError:
    """The error an HTTP status stands for."""
    return _class_for(status, detail)(
        f"The model's server answered HTTP {status}: {detail}", retry_after_seconds=retry_after_seconds
    )


def _class_for(status: int, detail: str) -> type[LLMError]:
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    if status >= 500:
        return LLMServiceUnavailableError
    too_long = any(words in detail.lower() for words in _CONTEXT_WORDS)
    return LLMContextWindowError if too_long else LLMBadRequestError


_BY_STATUS = {
    401: LLMAuthenticationError,
    402: LLMBudgetError,
    403: LLMAuthenticationError,
    408: LLMTimeoutError,
    413: LLMContextWindowError,
    429: LLMRateLimitError,
}
