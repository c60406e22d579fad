"""Replies to the SCIM requests with which an identity provider manages people and teams (RFC 7644). All
errors are sent in the format of SCIM.
"""

import json
from collections.abc import Mapping, Sequence
from functools import reduce
from operator import or_
from typing import Any, Protocol
from uuid import UUID

from fastapi import Request
from pydantic import ValidationError
from scim2_models import (
    Context,
    Error,
    ListResponse,
    NotFoundException,
    PatchOp,
    ResponseParameters,
    SCIMException,
    SearchRequest,
    UniquenessException,
)
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession
from starlette.responses import Response

from app_server.access.audit_trail import AuditTrail
from app_server.access.principal import Principal
from app_server.core.database import Database
from app_server.core.errors import AppError
from app_server.scim.groups import Groups
from app_server.scim.people import People
from app_server.scim.resources import (
    MAX_RESULTS,
    POLICY,
    RESOURCE_TYPES,
    PersonResource,
    ScimGroup,
    schemas,
    service_provider_config,
)

MEDIA_TYPE = "application/scim+json"
_MODELS: Mapping[str, Any] = {"Users": PersonResource, "Groups": ScimGroup}


class Collection(Protocol):
    """The interface for reading and changing all SCIM resources of one type. The type is either people or
    teams. The id of a resource is the id of the user or the team in Slipway.
    """

    async def read(self, only: UUID | None = None) -> list[Any]: ...

    async def create(self, given: Any) -> UUID: ...

    async def replace(self, id_: UUID, patched: Any | None, given: Any) -> None: ...

    async def delete(self, id_: UUID) -> None: ...


async def reply_to(
    request: Request, path: str, principal: Principal, trail: AuditTrail, base: str
) -> Response:
    """Carries out a SCIM request and returns the reply. Errors become replies in the format of SCIM.

    `path`: the part of the request's path after `/scim/v2`. `principal`: the user, the permissions and the
    API key with which the identity provider sends the request. `trail`: the audit log. `base`: the URL of
    Slipway's SCIM service.
    """
    try:
        with POLICY:
            return await _Call(request, principal, trail, base).reply(
                [part for part in path.split("/") if part]
            )
    except SCIMException as error:
        return _error(error.to_error())
    except ValidationError as error:
        return _error(Error.from_validation_error(error.errors()[0]))
    except AppError as error:
        scim_type = "uniqueness" if error.code == "team_name_taken" else None
        return _error(Error(status=error.status, detail=error.detail, scim_type=scim_type))
    except IntegrityError:
        # Another request has created the same one at the same moment.
        return _error(UniquenessException(detail="This resource exists already.").to_error())
    except json.JSONDecodeError:
        return _error(Error(status=400, detail="The body is not JSON.", scim_type="invalidSyntax"))


def _of(message: Any, model: Any) -> Any:
    """Returns the class of SCIM messages that contain resources of the class `model`. `message`: the generic
    message class, such as ListResponse. For example, `_of(ListResponse, ScimGroup)` returns
    `ListResponse[ScimGroup]`. Type checkers reject this expression if `model` is a variable; therefore all
    types here are `Any`.
    """
    return message[model]


def _error(error: Error) -> Response:
    return _json(error.model_dump_json(), status=int(error.status or 500))


def _json(text: str, *, status: int = 200, location: str | None = None) -> Response:
    headers = {"Location": location} if location else None
    return Response(text, status_code=status, media_type=MEDIA_TYPE, headers=headers)


_NOT_ALLOWED = _error(Error(status=405, detail="This method is not possible here."))


class _Call:
    def __init__(self, request: Request, principal: Principal, trail: AuditTrail, base: str) -> None:
        self._request = request
        self._principal = principal
        self._trail = trail
        self._base = base
        self._database: Database = request.state.database

    async def reply(self, path: list[str]) -> Response:
        kind, *rest = path or [""]
        method = self._request.method
        if kind in _MODELS:
            return await self._of_collection(kind, method, rest)
        if kind == ".search":
            return await self._list([*_MODELS], await self._body()) if method == "POST" else _NOT_ALLOWED
        if kind not in {"ServiceProviderConfig", "ResourceTypes", "Schemas"}:
            raise NotFoundException(detail="There is nothing at this address.")
        if method != "GET":
            return _NOT_ALLOWED
        return (
            self._single(service_provider_config())
            if kind == "ServiceProviderConfig"
            else self._described(kind, rest)
        )

    async def _of_collection(self, kind: str, method: str, rest: list[str]) -> Response:
        if rest == [".search"] and method == "POST":
            return await self._list([kind], await self._body())
        match rest:
            case []:
                handlers = {"GET": self._list_by_query, "POST": self._create}
                return await handlers[method](kind) if method in handlers else _NOT_ALLOWED
            case [id_]:
                single = {
                    "GET": self._read,
                    "PUT": self._change,
                    "PATCH": self._change,
                    "DELETE": self._delete,
                }
                return await single[method](kind, id_) if method in single else _NOT_ALLOWED
        raise NotFoundException(detail="There is nothing at this address.")

    async def _list_by_query(self, kind: str) -> Response:
        return await self._list([kind], dict(self._request.query_params))

    async def _read(self, kind: str, id_: str) -> Response:
        async with self._database.read() as session:
            return self._single(await _one(self._collection(kind, session), id_))

    async def _delete(self, kind: str, id_: str) -> Response:
        async with self._database.session() as session:
            collection = self._collection(kind, session)
            await collection.delete(UUID((await _one(collection, id_)).id))
        return Response(status_code=204)

    def _collection(self, kind: str, session: AsyncSession) -> Collection:
        if kind == "Users":
            return People(session, self._principal.user, self._trail, self._base)
        return Groups(session, self._trail, self._request.state.pubsub, self._base)

    async def _body(self) -> Any:
        return json.loads(await self._request.body() or b"null")

    async def _list(self, kinds: Sequence[str], asked: Any) -> Response:
        model = reduce(or_, (_MODELS[kind] for kind in kinds))
        search = _of(SearchRequest, model).model_validate(asked, scim_ctx=Context.SEARCH_REQUEST)
        async with self._database.read() as session:
            found = [one for kind in kinds for one in await self._collection(kind, session).read()]
        if search.filter is not None:
            found = [one for one in found if search.filter.match(one)]
        if search.sort_by is not None:
            found = search.sort(found)
        first = search.start_index_0 or 0
        count = MAX_RESULTS if search.count is None else min(search.count, MAX_RESULTS)
        page = found[first : first + count]
        listed = _of(ListResponse, model)(
            total_results=len(found), start_index=first + 1, items_per_page=len(page), resources=page
        )
        return _json(
            listed.model_dump_json(
                scim_ctx=Context.RESOURCE_QUERY_RESPONSE,
                response_parameters=search,
            )
        )

    async def _create(self, kind: str) -> Response:
        given = _MODELS[kind].model_validate(await self._body(), scim_ctx=Context.RESOURCE_CREATION_REQUEST)
        async with self._database.session() as session:
            collection = self._collection(kind, session)
            [made] = await collection.read(await collection.create(given))
        shown = made.model_dump_json(scim_ctx=Context.RESOURCE_CREATION_RESPONSE)
        return _json(shown, status=201, location=str(made.meta.location))

    async def _change(self, kind: str, id_: str) -> Response:
        model, body = _MODELS[kind], await self._body()
        is_patch = self._request.method == "PATCH"
        async with self._database.session() as session:
            collection = self._collection(kind, session)
            before = await _one(collection, id_)
            if is_patch:
                given = before.model_copy(deep=True)
                _of(PatchOp, model).model_validate(body, scim_ctx=Context.RESOURCE_PATCH_REQUEST).patch(given)
            else:
                given = model.model_validate(body, scim_ctx=Context.RESOURCE_REPLACEMENT_REQUEST)
                given.replace(before)
            await collection.replace(UUID(before.id), before if is_patch else None, given)
            [changed] = await collection.read(UUID(before.id))
        context = Context.RESOURCE_PATCH_RESPONSE if is_patch else Context.RESOURCE_REPLACEMENT_RESPONSE
        return self._single(changed, context)

    def _described(self, kind: str, rest: list[str]) -> Response:
        """Replies to a request for the resource types or the schemas that the SCIM service supports. `kind`:
        `ResourceTypes` or `Schemas`. `rest`: the id of a single resource type or schema, split at `/`; if
        empty, all are returned.

        Raises NotFoundException if there is no resource type or schema with this id.
        """
        found: list[Any] = [*RESOURCE_TYPES] if kind == "ResourceTypes" else schemas()
        if "filter" in self._request.query_params:
            return _error(Error(status=403, detail="These resources cannot be filtered."))
        if rest:
            one = next((each for each in found if str(each.id) == "/".join(rest)), None)
            if one is None:
                raise NotFoundException(detail="There is no such resource.")
            return self._single(one)
        listed = _of(ListResponse, type(found[0]))(
            total_results=len(found), start_index=1, items_per_page=len(found), resources=found
        )
        return _json(listed.model_dump_json(scim_ctx=Context.RESOURCE_QUERY_RESPONSE))

    def _single(self, resource: Any, context: Context = Context.RESOURCE_QUERY_RESPONSE) -> Response:
        asked = {
            name: value
            for name, value in self._request.query_params.items()
            if name in {"attributes", "excludedAttributes"}
        }
        wanted = _of(ResponseParameters, type(resource)).model_validate(asked)
        return _json(
            resource.model_dump_json(
                scim_ctx=context,
                response_parameters=wanted,
            )
        )


async def _one(collection: Collection, id_: str) -> Any:
    try:
        found = await collection.read(UUID(id_))
    except ValueError:
        found = []
    if not found:
        raise NotFoundException(detail=f"There is no resource with the id {id_!r}.")
    return found[0]
