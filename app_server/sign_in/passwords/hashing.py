"""Computes Argon2id hashes of passwords in threads. The number of hashes that are computed at the same time
is limited, because each computation needs much memory.

The parameters are the defaults of argon2-cffi: 64 MiB, 3 passes and 4 lanes. They are the second recommended
option of RFC 9106, section 4.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import TYPE_CHECKING, Final, TypeVar

from app_server.sign_in.passwords.refusals import too_many_checks

if TYPE_CHECKING:
    from argon2 import PasswordHasher

AT_A_TIME: Final = 2
"""The maximum number of hashes that are computed at the same time. Each computation uses 64 MiB and four
threads for a fraction of a second.
"""
MAX_WAITING: Final = 40

Result = TypeVar("Result")


class PasswordHashing:
    def __init__(self, hasher: "PasswordHasher | None" = None) -> None:
        self._injected_hasher = hasher
        self._threads = ThreadPoolExecutor(AT_A_TIME, "password")
        self._under_way = 0

    @cached_property
    def _hasher(self) -> "PasswordHasher":
        if self._injected_hasher is not None:
            return self._injected_hasher
        from argon2 import PasswordHasher  # loaded where first used: a server must start quickly

        return PasswordHasher()

    @cached_property
    def _of_unknown(self) -> str:
        return self._hasher.hash("the password of no account")

    async def hash(self, password: str) -> str:
        """Returns the hash of the password. Raises TooManyRequests `sign_in_busy` if too many passwords wait
        to be hashed.
        """
        return await self._in_thread(lambda: self._hasher.hash(password))

    async def is_right(self, password_hash: str | None, password: str) -> bool:
        """Returns whether the password is the one from which the hash was computed.

        `password_hash`: None means that the account is unknown. Then compares the password with another hash
        and returns False. So the time of the check does not tell an attacker whether the account exists.
        Raises TooManyRequests `sign_in_busy` if too many passwords wait to be checked.
        """

        def verify() -> bool:
            from argon2.exceptions import InvalidHashError, VerificationError

            # Computed for known accounts too: the first check of an unknown one must take no longer.
            of_unknown = self._of_unknown
            try:
                return (
                    self._hasher.verify(password_hash or of_unknown, password) and password_hash is not None
                )
            except (VerificationError, InvalidHashError):
                return False

        return await self._in_thread(verify)

    def is_outdated(self, password_hash: str) -> bool:
        """Returns whether the hash was made with other parameters of Argon2id than the current ones."""
        return self._hasher.check_needs_rehash(password_hash)

    async def close(self) -> None:
        await asyncio.to_thread(self._threads.shutdown)

    async def _in_thread(self, work: Callable[[], Result]) -> Result:
        if self._under_way >= AT_A_TIME + MAX_WAITING:
            raise too_many_checks()
        self._under_way += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, work)
        finally:
            self._under_way -= 1
