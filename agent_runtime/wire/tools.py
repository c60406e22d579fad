"""The models of the list of tools that an agent can use."""

from pydantic import BaseModel


class ToolCatalogEntry(BaseModel):
    """One tool in the reply of GET /api/tools/catalog.

    `user_selectable`: whether a user can choose the tool; false for tools that every agent has. `usable`:
    whether this server can provide the tool. If it cannot, the description states the reason.
    """

    name: str
    user_selectable: bool = True
    usable: bool = True
    description: str = ""
    in_default_set: bool = False


class ToolCatalogResponse(BaseModel):
    tools: list[ToolCatalogEntry]
