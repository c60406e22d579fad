"""Contains a base class for configuration objects. The class refuses unknown fields in Python code, and keeps
unknown fields in data from clients of the agent server.
"""

from typing import Any, Self

from pydantic import BaseModel, ValidationError
from pydantic_core import InitErrorDetails


class KnownFieldsOnly(BaseModel):
    """The base class of configuration objects. The constructor refuses unknown fields, because otherwise a
    misspelled field name would have no visible effect.

    `model_validate`, which reads requests and event logs, keeps unknown fields unchanged.
    """

    def __new__(cls, *_: Any, **fields: Any) -> Self:
        """Creates the configuration object. Raises pydantic.ValidationError if `fields` contains names that
        the class does not define. The error has one entry of the type `extra_forbidden` for each of these
        names, and does not show the values.
        """
        unknown = [name for name in fields if name not in cls.model_fields]
        if unknown:
            problems = [InitErrorDetails(type="extra_forbidden", loc=(name,), input=None) for name in unknown]
            raise ValidationError.from_exception_data(cls.__name__, problems, hide_input=True)
        return super().__new__(cls)
