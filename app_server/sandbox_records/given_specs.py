"""Reads the sandbox specs that the organisation and teams provide for their members. A sandbox spec says
which base image sandboxes start from.
"""

import base64
from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel
from sqlalchemy.ext.asyncio import AsyncSession

from app_server.levels.items import LevelItem, all_items
from app_server.levels.models import LevelItemKind


class GivenSpec(BaseModel):
    """A sandbox spec of the organisation or a team, as it is stored in the database: the base image that
    sandboxes start from.

    `base`: the name of the base image. `dockerfile`: the text of the Dockerfile. `build`: the build settings,
    such as arguments and target. `files`: the gzipped tar of the files that the image is built from, in
    base64. `dockerfile`, `build` and `files` are None if the image is not built from files.
    `runtime_plugins`: the runtime plugins (programs such as VS Code) that the sandboxes provide; None means
    all plugins of the image. `is_default`: whether new sandboxes of a member start from this spec if the
    member has chosen no other spec.
    """

    description: str | None
    base: str
    dockerfile: str | None
    build: dict[str, Any] | None
    files: str | None
    runtime_plugins: Sequence[str] | None
    is_default: bool

    @classmethod
    def of(cls, item: LevelItem) -> "GivenSpec":
        return cls.model_validate(item.level_value.value)


async def given_bases(session: AsyncSession) -> set[str]:
    """Returns the names of the base images in all sandbox specs that organisations and teams provide. A
    sandbox spec says which base image sandboxes start from.
    """
    return {GivenSpec.of(item).base for item in await all_items(session, None, LevelItemKind.SANDBOX_SPEC)}


async def given_files(session: AsyncSession, base: str) -> tuple[dict[str, Any], bytes] | None:
    """Finds the files from which the base image with the name `base` is built, in the sandbox specs of all
    organisations and teams. Returns the build settings and the gzipped tar of the files. Returns None if no
    spec contains these files.

    The build settings are a dict with all fields of the class BuildFiles except `name`, such as the build
    arguments.
    """
    for item in await all_items(session, None, LevelItemKind.SANDBOX_SPEC):
        spec = GivenSpec.of(item)
        if spec.base == base and spec.build is not None and spec.files is not None:
            return spec.build, base64.b64decode(spec.files)
    return None
