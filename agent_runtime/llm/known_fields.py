"""Configuration that programs write by hand and clients send: strict with the one, tolerant of the other."""

from typing import Any, Self

from pydantic import BaseModel, ValidationError
from pydantic_core import InitErrorDetails


class KnownFieldsOnly(BaseModel):
    """Its constructor refuses unknown fields: a typing error would otherwise be silently without effect.

    `model_validate`, which reads the wire and logs, keeps them as they came.
    """

    def __new__(cls, *_: Any, **fields: Any) -> Self:
        """pydantic.ValidationError, `extra_forbidden` for each unknown field. It shows no values."""
        unknown = [name for name in fields if name not in cls.model_fields]
        if unknown:
            problems = [InitErrorDetails(type="extra_forbidden", loc=(name,), input=None) for name in unknown]
            raise ValidationError.from_exception_data(cls.__name__, problems, hide_input=True)
        return super().__new__(cls)
