"""The network on the wire: what sandboxes may call, and what they tried."""

from typing import Annotated

from fastapi import Query
from pydantic import AfterValidator, BaseModel, Field, StringConstraints

from app_server.core.addresses import parse_rule
from app_server.core.database import Id, Timestamp
from app_server.core.pagination import Page
from app_server.egress.attribution import OccupantInfo, Occupants, possible
from app_server.egress.models import MAX_SUBJECT_CHARACTERS, EgressRecord, EgressSetting
from app_server.egress.policy import EgressMode, Reason
from app_server.egress.settings import MAX_HOSTS


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

    conversations: any of those that were there then and are there still may have tried it.
    client: how the program called itself. Bytes as the sandbox sent and received them.
    """

    id: Id
    sandbox_id: Id
    conversations: list[OccupantInfo]
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
    def of(cls, record: EgressRecord, occupants: Occupants) -> "NetworkRecord":
        return cls(
            id=record.id,
            sandbox_id=record.sandbox_id,
            conversations=possible(occupants, record.sandbox_id, record.last_at),
            host=record.host,
            port=record.port,
            reason=Reason(record.reason) if record.reason else None,
            client=record.client,
            count=record.count,
            bytes_sent=record.bytes_sent,
            bytes_received=record.bytes_received,
            first_at=record.first_at,
            last_at=record.last_at,
        )


class NetworkRecordPage(Page[NetworkRecord]):
    pass
