"""Routes that preview marketplaces and change the marketplaces of all users. A marketplace is a git
repository that lists plugins and skills. Users change their own marketplaces with their settings (`POST
/api/v1/settings`).
"""

from fastapi import APIRouter

from app_server.access.audit_trail import CurrentTrail
from app_server.access.authentication import CurrentUser
from app_server.audit.actions import AuditAction, AuditTarget
from app_server.core.database import Session
from app_server.core.server_objects import ServerConfig
from app_server.git.pinned_git import guard_for
from app_server.marketplaces import service
from app_server.marketplaces.schemas import (
    MarketplaceSkillsPreviewResponse,
    Registrations,
    SharedMarketplaces,
)

router = APIRouter(prefix="/api/v1/skills", tags=["Skills"])
shared_router = APIRouter(prefix="/api/v1/marketplaces", tags=["Skills"])


@router.post("/marketplace-skills")
async def preview_marketplaces(
    user: CurrentUser, config: ServerConfig, body: Registrations
) -> MarketplaceSkillsPreviewResponse:
    """Fetches the given marketplaces and returns the plugins and skills that they list now. Nothing is
    stored.

    If a marketplace cannot be read, `errors` in the reply says why. A request contains at most 20
    marketplaces.
    """
    wanted = [each.without_scope() for each in body]
    return await service.preview(wanted, guard_for(config, administers=user.administers_installation))


@shared_router.put("/shared")
async def save_shared_marketplaces(
    trail: CurrentTrail, session: Session, body: SharedMarketplaces
) -> SharedMarketplaces:
    """Replaces the list of marketplaces that are shared with all users of this installation, and returns the
    new list. Users see these marketplaces in their settings as `inherited_marketplaces`.
    """
    await service.share(session, body.marketplaces)
    target = (AuditTarget.MARKETPLACE, "everyone")
    trail.record(
        session, AuditAction.MARKETPLACES_CHANGED, target, names=[one.name for one in body.marketplaces]
    )
    return SharedMarketplaces(marketplaces=await service.shared(session))
