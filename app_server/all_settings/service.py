"""Reads and changes the settings that other packages of Slipway store, under the names that the OpenHands API
uses.
"""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from app_server import demo
from app_server.access.audit_trail import AuditTrail
from app_server.access.principal import Principal
from app_server.all_settings.schemas import (
    ConversationSettings,
    LLMDiff,
    LLMProfilesByName,
    SaveSettings,
    SettingsInfo,
)
from app_server.audit.actions import AuditAction, AuditTarget
from app_server.core.encryption import Cipher
from app_server.core.errors import BadRequest
from app_server.git.credentials import list_credentials
from app_server.git.providers import provider_of
from app_server.levels.models import SettingName
from app_server.levels.service import save_own, value_for
from app_server.marketplaces import service as marketplaces
from app_server.mcp_servers.service import infos_of, list_servers
from app_server.sandbox_specs import service as sandbox_specs
from app_server.sandbox_specs.permission import SpecPermission
from app_server.settings import profile_lookup, profiles, sharing
from app_server.settings.cloning import DEFAULT_MODE, FETCHES_SUBMODULES, CloneMode
from app_server.settings.commit_trailers import CommitTrailer
from app_server.settings.confirmation import ConfirmationMode, chosen_mode
from app_server.settings.grouping import grouping_of
from app_server.settings.models import DEFAULT_MAX_ITERATIONS, LLMProfile, UserSettings
from app_server.settings.profile_views import profile_info
from app_server.settings.schemas import LLMSettings
from app_server.skills.choices import disable_everywhere, disabled_everywhere
from app_server.users.models import User

NEW_PROFILE = "default"


@dataclass(frozen=True)
class SettingsStore:
    """The service that reads and changes the settings of one user.

    `default_mode`: the confirmation mode (when the agent asks before it acts) of users who have not chosen
    one. `specs`: says which sandbox specs (images and plugins of new sandboxes) the user may choose.
    """

    session: AsyncSession
    cipher: Cipher
    user: User
    default_mode: ConfirmationMode
    specs: SpecPermission

    async def read(self) -> SettingsInfo:
        session, user_id = self.session, self.user.id
        rows = await profile_lookup.list_profiles(session, user_id)
        active = await profile_lookup.active_profile(session, user_id)
        own = await session.get(UserSettings, user_id)
        specs = await sandbox_specs.choices(session, user_id)
        tokens: dict[str, str | None] = {}
        for row in await list_credentials(session, user_id):
            provider, host = provider_of(row.origin, row.provider)
            tokens.setdefault(provider, host)
        return SettingsInfo(
            agent_settings={
                "agent_kind": "openhands",
                "llm": _llm(active, user_id) if active else {},
                "mcp_config": await self._mcp_config(),
            },
            conversation_settings=await self._conversation_settings(),
            max_budget_per_task=active.max_budget_per_task if active else None,
            git_user_name=own.git_user_name if own else None,
            git_user_email=own.git_user_email if own else None,
            commit_trailer=CommitTrailer(await self._value(SettingName.COMMIT_TRAILER, CommitTrailer.NONE)),
            commit_trailers=(own and own.commit_trailers) or {},
            clone=CloneMode(await self._value(SettingName.CLONE, DEFAULT_MODE)),
            submodules=await self._value(SettingName.SUBMODULES, FETCHES_SUBMODULES),
            sandbox_grouping_strategy=await grouping_of(session, user_id),
            default_sandbox_spec_id=specs.get(sandbox_specs.ALL_REPOSITORIES),
            disabled_skills=await disabled_everywhere(session, user_id),
            registered_marketplaces=marketplaces.own(own),
            inherited_marketplaces=await marketplaces.shared(session),
            llm_profiles=LLMProfilesByName(
                profiles={row.name: _llm(row, user_id) for row in rows},
                active=active.name if active else None,
            ),
            llm_api_key_set=active is not None and active.api_key_set,
            provider_tokens_set=tokens,
        )

    async def save(self, changes: SaveSettings, principal: Principal, trail: AuditTrail) -> None:
        """Saves the settings that `changes` contains; the other settings stay. `principal`: the user and the
        permissions of the request.

        Raises BadRequest `inherited_marketplaces` if `changes` would change the marketplaces that all users
        share. Raises Forbidden `setting_enforced` if the organisation or a team enforces another value. Also
        raises the errors of the packages that store the changed settings, such as Conflict `api_key_needed`,
        NotFound `sandbox_spec_not_found`, Forbidden `permission_missing` and Forbidden
        `sandbox_specs_not_allowed`.
        """
        await self._save_marketplaces(changes, trail)
        await self._save_skills(changes, trail)
        await self._save_model(changes, principal, trail)
        await self._save_conversation(changes, trail)
        given = changes.model_fields_set
        own: dict[str, Any] = {
            name: getattr(changes, name) or None
            for name in ("git_user_name", "git_user_email", "commit_trailers")
            if name in given
        }
        await self._merge(own)
        if "commit_trailer" in given:
            trailer = changes.commit_trailer
            await self._save_level(SettingName.COMMIT_TRAILER, trailer and trailer.value)
        if "clone" in given:
            await self._save_level(SettingName.CLONE, changes.clone and changes.clone.value)
        if "submodules" in given:
            await self._save_level(SettingName.SUBMODULES, changes.submodules)
        if changes.sandbox_grouping_strategy is not None:
            await self._save_level(
                SettingName.SANDBOX_GROUPING_STRATEGY, changes.sandbox_grouping_strategy.value
            )
        if "default_sandbox_spec_id" in given:
            await sandbox_specs.choose(
                self.session,
                self.user.id,
                sandbox_specs.ALL_REPOSITORIES,
                changes.default_sandbox_spec_id,
                self.specs,
            )

    async def _save_marketplaces(self, changes: SaveSettings, trail: AuditTrail) -> None:
        inherited = changes.inherited_marketplaces
        shared = marketplaces.stored(await marketplaces.shared(self.session))
        if inherited is not None and marketplaces.stored(inherited) != shared:
            raise BadRequest(
                "The marketplaces of everyone are not a part of your settings.",
                code="inherited_marketplaces",
                fix="An administrator changes them with PUT /api/v1/marketplaces/shared.",
            )
        if changes.registered_marketplaces is None:
            return
        wanted = marketplaces.stored(changes.registered_marketplaces)
        if wanted != marketplaces.stored(marketplaces.own(await self._own())):
            await self._merge({"registered_marketplaces": wanted})
            names = [each["name"] for each in wanted]
            target = (AuditTarget.MARKETPLACE, "user")
            trail.record(self.session, AuditAction.MARKETPLACES_CHANGED, target, names=names)

    async def _save_skills(self, changes: SaveSettings, trail: AuditTrail) -> None:
        wanted = changes.disabled_skills
        if wanted is None or sorted(set(wanted)) == await disabled_everywhere(self.session, self.user.id):
            return
        await disable_everywhere(self.session, self.user.id, wanted)
        target = (AuditTarget.SKILL, "user")
        trail.record(
            self.session, AuditAction.SKILL_SWITCHED, target, change=f"{len(set(wanted))} off everywhere"
        )

    async def _own(self) -> UserSettings | None:
        return await self.session.get(UserSettings, self.user.id)

    async def _save_model(self, changes: SaveSettings, principal: Principal, trail: AuditTrail) -> None:
        llm, has_budget = changes.agent_settings_diff.llm, "max_budget_per_task" in changes.model_fields_set
        if not (llm.model_fields_set or has_budget):
            return
        active = await self._own_model()
        budget = changes.max_budget_per_task if active is None or has_budget else active.max_budget_per_task
        wanted = _merged(active, llm, budget)
        name = active.name if active else NEW_PROFILE
        await sharing.require_may_change(self.session, principal, name)
        source = None if "base_url" in llm.model_fields_set else active
        await profiles.save_profile(self.session, self.cipher, self.user.id, name, wanted, address_of=source)
        await profiles.activate_profile(self.session, self.user.id, name)
        target = (AuditTarget.PROFILE, name)
        trail.record(self.session, AuditAction.PROFILE_CHANGED, target, change="saved", model=wanted.model)

    async def _own_model(self) -> LLMProfile | None:
        """Returns the active model profile if the user can change it. Returns None if no profile is active,
        or if the active profile belongs to another user or is the built-in one.
        """
        active = await profile_lookup.active_profile(self.session, self.user.id)
        is_changeable = active and active.user_id == self.user.id and active.name != demo.PROFILE
        return active if is_changeable else None

    async def _save_conversation(self, changes: SaveSettings, trail: AuditTrail) -> None:
        diff = changes.conversation_settings_diff
        if diff.max_iterations is not None:
            await self._save_level(SettingName.MAX_ITERATIONS, diff.max_iterations)
        if diff.model_fields_set & {"confirmation_mode", "security_analyzer"}:
            now = await self._conversation_settings()
            asks = now.confirmation_mode if diff.confirmation_mode is None else diff.confirmation_mode
            has_analyzer = "security_analyzer" in diff.model_fields_set
            analyzer = diff.security_analyzer if has_analyzer else now.security_analyzer
            wanted = _mode(asks, analyzer)
            if (asks, analyzer) != (now.confirmation_mode, now.security_analyzer):
                await self._save_level(SettingName.CONFIRMATION_MODE, wanted.value)
                target = (AuditTarget.CONFIRMATION, "user")
                trail.record(self.session, AuditAction.CONFIRMATION_CHANGED, target, mode=wanted)

    async def _conversation_settings(self) -> ConversationSettings:
        mode = await chosen_mode(self.session, self.user.id) or self.default_mode
        return ConversationSettings(
            max_iterations=await self._value(SettingName.MAX_ITERATIONS, DEFAULT_MAX_ITERATIONS),
            confirmation_mode=mode is not ConfirmationMode.NEVER,
            security_analyzer="none" if mode is ConfirmationMode.ALWAYS else "llm",
        )

    async def _mcp_config(self) -> dict[str, Any]:
        servers = await list_servers(self.session, self.user.id)
        infos = await infos_of(self.session, self.cipher, servers)
        return {name: info.model_dump(mode="json") for name, info in infos.items()}

    async def _value(self, name: SettingName, default: Any) -> Any:
        value = await value_for(self.session, self.user.id, name)
        return default if value is None else value.value

    async def _save_level(self, name: SettingName, value: Any) -> None:
        """Stores `value` as the user's choice for a setting that the organisation and teams can set, too.
        `value`: None deletes the user's choice.

        Stores nothing if the setting already has this value for the user, for example because a team has set
        it. Raises Forbidden `setting_enforced` if the organisation or a team enforces another value.
        """
        now = await value_for(self.session, self.user.id, name)
        if now is None or now.value != value:
            await save_own(self.session, self.user.id, name, value)

    async def _merge(self, values: dict[str, Any]) -> None:
        if values:
            await self.session.merge(UserSettings(user_id=self.user.id, **values))
            await self.session.flush()


def _mode(asks: bool, analyzer: str | None) -> ConfirmationMode:
    if not asks:
        return ConfirmationMode.NEVER
    return ConfirmationMode.RISKY if analyzer == "llm" else ConfirmationMode.ALWAYS


def _llm(row: LLMProfile, user_id: UUID) -> dict[str, Any]:
    """Returns the model settings of a profile, without the API key.

    `user_id`: the id of the user who reads the settings. If the profile belongs to another user, the base URL
    is None, because users must not see the base URLs of others.
    """
    info = profile_info(row, user_id)
    names = ("model", "base_url", "input_cost_per_token", "output_cost_per_token")
    return {name: getattr(info, name) for name in names} | {"api_key": None}


def _merged(row: LLMProfile | None, diff: LLMDiff, budget: float | None) -> LLMSettings:
    known = {} if row is None else _llm(row, row.user_id)
    given = {name: getattr(diff, name) for name in diff.model_fields_set}
    merged = {**known, **given, "max_budget_per_task": budget}
    if not merged.get("model"):
        raise BadRequest(
            "No model is chosen.", code="llm_model_missing", fix="Send agent_settings_diff.llm.model."
        )
    return LLMSettings.model_validate(merged)
