"""The tools that an agent can be given."""

from pydantic import BaseModel


class ToolCatalogEntry(BaseModel):
    """One tool.

    user_selectable: false for tools that every agent has.
    usable: whether this server can provide the tool; if not, the description says why.
    """

    name: str
    user_selectable: bool = True
    usable: bool = True
    description: str = ""
    in_default_set: bool = False


class ToolCatalogResponse(BaseModel):
    tools: list[ToolCatalogEntry]
