"""Creates, stores and replaces session keys. With a session key, a sandbox and the app server authenticate to
each other. The key is replaced while the sandbox runs.

A new key is stored before it is sent to the agent server. It replaces the old key when the agent server has
accepted it. Until then, the inner listener (the app server's port for sandboxes) accepts both keys. After a
crash, the app server does not know which key the agent server has, so it tries both keys.
"""

import hmac
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from agent_runtime.wire import FirstKeys
from app_server.agent_client.client import AgentClient, HandOver
from app_server.core.config import Config
from app_server.core.database import Database, now
from app_server.core.encryption import Cipher
from app_server.core.errors import NotFound
from app_server.sandbox_records.models import Sandbox
from app_server.users.tokens import new_token, token_hash

OVERLAP = timedelta(seconds=60)
"""How long the inner listener (the app server's port for sandboxes) still accepts a session key after the key
was replaced. Requests that a sandbox has sent before the replacement still contain the old key.
"""
RETRY_SECONDS = 10.0


@dataclass(frozen=True)
class NewSessionKey:
    """A new session key of a sandbox, and the data that is needed to send the key to the agent server. With
    the session key, sandbox and app server authenticate to each other.

    `key`: the new session key. `known`: the session keys that the agent server may accept at present, the
    most likely key first. `first`: the JSON text that a newly started agent server gets. It contains the
    session key and the keys that sign the stored settings of conversations (see `FirstKeys`).
    """

    key: str
    known: Sequence[str]
    first: str


@dataclass(frozen=True)
class _Moment:
    """A point in time that is measured with two clocks: the wall clock and the monotonic clock. `is_over`
    returns True as soon as one of the two clocks has passed this point.

    Both clocks are needed, because session keys can expire by either of them. The expiry times in database
    rows use the wall clock, which can jump and also runs while the computer sleeps. Agent servers use the
    monotonic clock.
    """

    wall: datetime
    monotonic: float

    @classmethod
    def after(cls, seconds: float) -> "_Moment":
        return cls(now() + timedelta(seconds=seconds), time.monotonic() + seconds)

    def is_over(self) -> bool:
        return now() > self.wall or time.monotonic() > self.monotonic


class SessionKeys:
    def __init__(self, config: Config, database: Database, cipher: Cipher) -> None:
        self._period = timedelta(minutes=config.session_key_minutes)
        self._database = database
        self._cipher = cipher
        # When to replace each sandbox's session key that this process has sent to an agent server.
        self._due: dict[UUID, _Moment] = {}

    async def prepare_key(self, sandbox_id: UUID) -> NewSessionKey:
        """Creates the sandbox's next session key, stores it and returns it. If a next key is already stored
        and the agent server has not yet accepted it, returns that key instead. From now on, the app server
        also accepts this key in requests of the sandbox. Raises NotFound if there is no such sandbox.
        """
        async with self._database.session() as session:
            sandbox = await self._get(session, sandbox_id)
            present = self._cipher.decrypt(sandbox.encrypted_session_key)
            if sandbox.encrypted_pending_session_key:
                # The agent server may have accepted this key already, so no other key is made.
                key = self._cipher.decrypt(sandbox.encrypted_pending_session_key)
            else:
                key = new_token()
                sandbox.pending_session_key_hash = token_hash(key)
                sandbox.encrypted_pending_session_key = self._cipher.encrypt(key)
            sandbox.pending_session_key_expires_at = now() + self._period
            first = self._first_keys(key, sandbox)
        return NewSessionKey(key, known=(key, present), first=first.model_dump_json())

    def _first_keys(self, key: str, sandbox: Sandbox) -> FirstKeys:
        """Returns the keys that the sandbox's agent server gets at its start. The first one is the session
        key `key`, with which the sandbox and the app server authenticate to each other. The others sign the
        stored specifications (settings) of conversations. These signing keys are derived from the app
        server's encryption keys and differ for each sandbox.
        """
        keys = self._cipher.signing_keys("specifications of conversations")
        return FirstKeys(
            session_key=key,
            spec_seal_keys=[hmac.digest(each, sandbox.id.bytes, "sha256").hex() for each in keys],
            takes_unsealed_specs=not sandbox.seals_specs,
        )

    async def revoke(self, sandbox_id: UUID) -> None:
        """Makes all session keys of the sandbox (for calls between sandbox and app server) invalid. Stores a
        new key, which is used when the sandbox is started again. Raises NotFound if there is no such sandbox.
        """
        key = new_token()
        async with self._database.session() as session:
            sandbox = await self._get(session, sandbox_id)
            sandbox.session_key_hash = token_hash(key)
            sandbox.encrypted_session_key = self._cipher.encrypt(key)
            sandbox.session_key_expires_at = None
            sandbox.pending_session_key_hash = sandbox.encrypted_pending_session_key = None
            sandbox.pending_session_key_expires_at = None
            sandbox.previous_session_key_hash = sandbox.previous_session_key_expires_at = None
        self.forget(sandbox_id)

    async def hand_over(self, sandbox_id: UUID, new_key: NewSessionKey, client: AgentClient) -> HandOver:
        """Sends the new session key (for calls between sandbox and app server) to the agent server. Returns
        "taken" if the agent server has accepted the key, "refused" if it has refused the key, and "absent" if
        it has not answered.

        If the agent server has accepted the new key, the app server still accepts the old key for a short
        time (OVERLAP). Raises NotFound if there is no such sandbox.
        """
        self._due[sandbox_id] = _Moment.after(RETRY_SECONDS)
        outcome = await client.hand_over(new_key.key, new_key.known, self._period.total_seconds())
        if outcome == "taken":
            await self._settle(sandbox_id, new_key)
            self._due[sandbox_id] = _Moment.after(self._period.total_seconds() / 2)
        return outcome

    def is_due(self, sandbox_id: UUID) -> bool:
        """Returns whether the sandbox's session key must be replaced now. A key must be replaced when half of
        its lifetime has passed, so that a slow agent server has enough time to get the new key. Also returns
        True if this process has not sent a key to the agent server yet.
        """
        due = self._due.get(sandbox_id)
        return due is None or due.is_over()

    def forget(self, sandbox_id: UUID) -> None:
        self._due.pop(sandbox_id, None)

    async def _settle(self, sandbox_id: UUID, new_key: NewSessionKey) -> None:
        async with self._database.session() as session:
            sandbox = await self._get(session, sandbox_id)
            if sandbox.pending_session_key_hash != token_hash(new_key.key):
                return
            sandbox.previous_session_key_hash = sandbox.session_key_hash
            sandbox.previous_session_key_expires_at = now() + OVERLAP
            sandbox.session_key_hash = token_hash(new_key.key)
            sandbox.encrypted_session_key = self._cipher.encrypt(new_key.key)
            sandbox.session_key_expires_at = now() + self._period
            sandbox.pending_session_key_hash = sandbox.encrypted_pending_session_key = None
            sandbox.pending_session_key_expires_at = None

    async def _get(self, session: AsyncSession, sandbox_id: UUID) -> Sandbox:
        sandbox = await session.get(Sandbox, sandbox_id)
        if sandbox is None:
            raise NotFound("No such sandbox.")
        return sandbox
