"""The request and reply models of the API for network settings and for records of network requests."""

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
from app_server.http.strict_body import StrictBody


def _checked(text: str) -> str:
    return str(parse_rule(text))


HostText = Annotated[str, StringConstraints(max_length=300), AfterValidator(_checked)]
"""A host name or an IP address, with or without a port. A name that begins with `*.` means all names below
it.
"""

RepositoryText = Annotated[str, StringConstraints(min_length=1, max_length=MAX_SUBJECT_CHARACTERS)]
RepositoryInQuery = Annotated[RepositoryText, Query()]


class SetNetwork(StrictBody):
    """A request to replace a user's network settings: which hosts the user's sandboxes may call.

    There are network settings for four scopes, from wide to narrow: the installation, the user, the
    repository, the sandbox. mode: whether sandboxes may call no host (`none`), only allowed hosts
    (`allowlist`) or all public hosts (`open`). null means that the mode of the next wider scope applies.
    hosts: hosts that are allowed in addition to the allowed hosts of the wider scopes.
    """

    mode: EgressMode | None
    hosts: Annotated[list[HostText], Field(max_length=MAX_HOSTS)] = []


class SetRepositoryNetwork(SetNetwork):
    """A request to replace a user's network settings for one repository.

    repository: the address of the repository, or its identity (`host/owner/name`) from a reply of the API.
    """

    repository: RepositoryText


class RepositoryNetwork(BaseModel):
    """A user's network settings for one repository: which hosts the sandboxes that work on the repository may
    call.

    repository: the identity of the repository, which is `host/owner/name` or a path on the server.
    """

    repository: str
    mode: EgressMode | None
    hosts: list[str]

    @classmethod
    def of(cls, setting: EgressSetting) -> "RepositoryNetwork":
        return cls(repository=setting.subject, mode=setting.mode, hosts=setting.hosts)


class NetworkSettings(BaseModel):
    """A user's network settings: which hosts the user's sandboxes may call.

    mode: whether sandboxes may call no host (`none`), only allowed hosts (`allowlist`) or all public hosts
    (`open`). null means that `default_mode` applies. hosts: the hosts that the user allows. default_hosts:
    the hosts that are allowed for all users of the installation. is_enforced: whether the egress proxy is the
    only way from sandboxes to the network. If false, programs in a sandbox can go around the proxy.
    """

    mode: EgressMode | None
    default_mode: EgressMode
    hosts: list[str]
    default_hosts: list[str]
    repositories: list[RepositoryNetwork]
    is_enforced: bool


class NetworkRecord(BaseModel):
    """A summary of the requests of one sandbox to one host and port within one hour. Refused requests have
    separate records.

    reason: why the requests were refused; null if they were not refused. conversations: the conversations
    that used the sandbox at the time of the last request and still exist. Each of them may have made the
    requests. client: the name that the program in the sandbox gives in its requests. bytes_sent,
    bytes_received: bytes that the sandbox sent and received.
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
