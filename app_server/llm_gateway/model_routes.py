"""Routes that list the models and vendors that a model profile (a saved model with its address and key) can
name. The data comes from the model catalogue, which also contains the prices.
"""

import asyncio
from collections.abc import Iterable
from functools import cache
from typing import Annotated

from fastapi import APIRouter, Depends, Query
from pydantic import BaseModel

from agent_runtime.metering.listed_models import ListedModel, listed_models
from agent_runtime.vendors import OPENAI_COMPATIBLE, OTHER_PROTOCOLS
from app_server.access.authentication import require_user
from app_server.core.pagination import Limit, Page, PageId, page_of

router = APIRouter(prefix="/api/v1/config", tags=["Config"], dependencies=[Depends(require_user)])

Words = Annotated[str | None, Query(max_length=200)]


class LLMModel(BaseModel):
    """A model of the model catalogue (the server's list of known models with their features and prices), as
    the HTTP routes return it. A model profile (a saved model with its options) names the model as
    `PROVIDER/NAME`. `verified`: whether the model supports tool calls and its price is known, according to
    the catalogue. `hidden` is always false and `canonical` is always null, because this server does not use
    them.
    """

    provider: str | None
    name: str
    verified: bool = False
    hidden: bool = False
    canonical: str | None = None


class Provider(BaseModel):
    """A vendor of models, as the HTTP routes return it. `verified`: whether at least one of the vendor's
    models is verified, which means that the model supports tool calls and its price is known.
    """

    name: str
    verified: bool = False


@router.get("/models/search")
async def search_models(
    query: Words = None,
    verified__eq: bool | None = None,
    provider__eq: Words = None,
    page_id: PageId = None,
    limit: Limit = 100,
) -> Page[LLMModel]:
    """Lists the models in the model catalogue (the server's list of known models with their features and
    prices). `query`: a part of the name, in upper or lower case. `verified__eq`: true returns only verified
    models (models that support tool calls and whose price is known), false returns only models that are not
    verified, null returns all models. `provider__eq`: the name of a vendor, whose models are returned; null
    means all vendors.
    """
    found = [
        one
        for one in await _models()
        if _fits(one.name, one.verified, query, verified__eq) and provider__eq in {None, one.provider}
    ]
    items, next_page_id = page_of(found, page_id, limit)
    return Page(items=items, next_page_id=next_page_id)


@router.get("/providers/search")
async def search_providers(
    query: Words = None,
    verified__eq: bool | None = None,
    page_id: PageId = None,
    limit: Limit = 100,
) -> Page[Provider]:
    """Lists the vendors whose models Slipway can call, sorted by name. `query`: a part of the name, in upper
    or lower case. `verified__eq`: true returns only vendors with at least one verified model, false
    returns only vendors without a verified model, null returns all vendors.
    """
    verified = {one.provider for one in await _models() if one.verified}
    vendors = sorted({*OPENAI_COMPATIBLE, *OTHER_PROTOCOLS})
    found = [Provider(name=name, verified=name in verified) for name in vendors]
    fitting = [one for one in found if _fits(one.name, one.verified, query, verified__eq)]
    items, next_page_id = page_of(fitting, page_id, limit)
    return Page(items=items, next_page_id=next_page_id)


def _fits(name: str, is_verified: bool, query: str | None, verified: bool | None) -> bool:
    has_words = query is None or query.lower() in name.lower()
    return has_words and verified in {None, is_verified}


async def _models() -> tuple[LLMModel, ...]:
    return await asyncio.to_thread(_all_models)


@cache
def _all_models() -> tuple[LLMModel, ...]:
    return tuple(_models_for_client(listed_models(frozenset({*OPENAI_COMPATIBLE, *OTHER_PROTOCOLS}))))


def _models_for_client(models: Iterable[ListedModel]) -> Iterable[LLMModel]:
    for one in models:
        yield LLMModel(provider=one.vendor, name=one.name, verified=one.calls_tools and one.has_price)
