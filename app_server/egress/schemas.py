"""The API's models of network settings and of records of network requests."""

from typing import Annotated

from fastapi import Query
from pydantic import AfterValidator, BaseModel, Field, StringConstraints

from app_server.core.addresses import parse_rule
from app_server.core.database import Id, Timestamp
from app_server.core.pagination import Page
from app_server.egress.attribution import Attribution, OccupantInfo, possible
from app_server.egress.models import MAX_SUBJECT_CHARACTERS, EgressRecord, EgressSetting
from app_server.egress.policy import EgressMode, Reason
from app_server.egress.settings import MAX_HOSTS


def _checked(text: str) -> str:
    return str(parse_rule(text))


HostText = Annotated[str, StringConstraints(max_length=300), AfterValidator(_checked)]
"""A host in one of the forms `name`, `*.name`, `name:port`, or an address."""

RepositoryText = Annotated[str, StringConstraints(min_length=1, max_length=MAX_SUBJECT_CHARACTERS)]
RepositoryInQuery = Annotated[RepositoryText, Query()]


class SetNetwork(BaseModel):
    """Network settings. mode: null means the mode of the next wider scope. hosts: in addition to those of the
    wider scopes.
    """

    mode: EgressMode | None
    hosts: Annotated[list[HostText], Field(max_length=MAX_HOSTS)] = []


class SetRepositoryNetwork(SetNetwork):
    """Network settings of a repository. repository: as users write it, or its identity from a reply."""

    repository: RepositoryText


class RepositoryNetwork(BaseModel):
    """Network settings of a repository. repository: its identity, `host/owner/name` or a path."""

    repository: str
    mode: EgressMode | None
    hosts: list[str]

    @classmethod
    def of(cls, setting: EgressSetting) -> "RepositoryNetwork":
        return cls(repository=setting.subject, mode=setting.mode, hosts=setting.hosts)


class NetworkSettings(BaseModel):
    """The user's network settings. default_mode: the meaning of null. default_hosts: hosts allowed for all
    users.

    is_enforced: whether the proxy is the only way out of sandboxes here.
    """

    mode: EgressMode | None
    default_mode: EgressMode
    hosts: list[str]
    default_hosts: list[str]
    repositories: list[RepositoryNetwork]
    is_enforced: bool


class NetworkRecord(BaseModel):
    """What one sandbox tried to reach within one hour. reason: why it was refused; null if it was not.

    conversations: the conversations that were there then and still exist; any of them may have made the
    request. client: the name that the program gives itself. Byte counts are from the sandbox's point of view.
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
    def of(cls, record: EgressRecord, attribution: Attribution) -> "NetworkRecord":
        return cls(
            id=record.id,
            sandbox_id=record.sandbox_id,
            conversations=possible(attribution, record.sandbox_id, record.last_at),
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
