"""Which tools an agent can be given."""

from pydantic import BaseModel


class ToolCatalogEntry(BaseModel):
    """user_selectable: not one that every agent has. usable: it can be made here; else the description says
    why not.
    """

    name: str
    user_selectable: bool = True
    usable: bool = True
    description: str = ""
    in_default_set: bool = False


class ToolCatalogResponse(BaseModel):
    tools: list[ToolCatalogEntry]
