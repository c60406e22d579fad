"""The network on the wire: what sandboxes may call, and what they tried."""

from typing import Annotated

from fastapi import Query
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints

from app_server.addresses import parse_rule
from app_server.database import Id, Timestamp
from app_server.egress.models import MAX_SUBJECT_CHARACTERS, EgressRecord, EgressSetting
from app_server.egress.policy import EgressMode, Reason
from app_server.egress.settings import MAX_HOSTS
from app_server.pagination import Page


def _checked(text: str) -> str:
    return str(parse_rule(text))


HostText = Annotated[str, StringConstraints(max_length=300), AfterValidator(_checked)]
"""`name`, `*.name`, `name:port`, an address."""

RepositoryText = Annotated[str, StringConstraints(min_length=1, max_length=MAX_SUBJECT_CHARACTERS)]
RepositoryInQuery = Annotated[RepositoryText, Query()]


class SetNetwork(BaseModel):
    """mode: null for what the next wider setting says. hosts: beside those of the wider settings."""

    mode: EgressMode | None
    hosts: Annotated[list[HostText], Field(max_length=MAX_HOSTS)] = []


class SetRepositoryNetwork(SetNetwork):
    """repository: as users write it, or its identity as it was given out."""

    repository: RepositoryText


class RepositoryNetwork(BaseModel):
    """repository: its identity, `host/owner/name` or a path."""

    repository: str
    mode: EgressMode | None
    hosts: list[str]

    @classmethod
    def of(cls, setting: EgressSetting) -> "RepositoryNetwork":
        return cls(repository=setting.subject, mode=setting.mode, hosts=setting.hosts)


class NetworkSettings(BaseModel):
    """default_mode: what null stands for. default_hosts: listed for everybody.

    is_enforced: whether sandboxes here have no other way out than the one that is judged.
    """

    mode: EgressMode | None
    default_mode: EgressMode
    hosts: list[str]
    default_hosts: list[str]
    repositories: list[RepositoryNetwork]
    is_enforced: bool


class NetworkRecord(BaseModel):
    """What one sandbox tried to reach within one hour. reason: why it was refused; null: it was not.

    client: how the program called itself. Bytes as the sandbox sent and received them.
    """

    model_config = ConfigDict(from_attributes=True)

    id: Id
    sandbox_id: Id
    host: str
    port: int
    reason: Reason | None
    client: str
    count: int
    bytes_sent: int
    bytes_received: int
    first_at: Timestamp
    last_at: Timestamp

    @classmethod
    def of(cls, record: EgressRecord) -> "NetworkRecord":
        fields = {name: getattr(record, name) for name in cls.model_fields}
        return cls.model_validate({**fields, "reason": record.reason or None})


class NetworkRecordPage(Page[NetworkRecord]):
    pass
