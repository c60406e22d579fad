"""Describes which settings of agents and conversations exist, with their names, types and default values. A
client builds its settings forms from these descriptions. This module does no I/O.
"""

from typing import Any, Literal

from pydantic import BaseModel

from app_server.settings.models import DEFAULT_MAX_ITERATIONS

ValueType = Literal["string", "integer", "number", "boolean", "array", "object"]


class SettingsChoice(BaseModel):
    value: bool | int | float | str
    label: str


class SettingsField(BaseModel):
    key: str
    label: str
    description: str | None = None
    section: str
    section_label: str
    value_type: ValueType
    default: Any = None
    prominence: Literal["critical", "major", "minor"] = "minor"
    depends_on: list[str] = []
    secret: bool = False
    choices: list[SettingsChoice] = []
    variant: str | None = None


class SettingsSection(BaseModel):
    key: str
    label: str
    fields: list[SettingsField]
    variant: str | None = None


class SettingsSchema(BaseModel):
    model_name: str
    sections: list[SettingsSection]


def agent_schema() -> SettingsSchema:
    """Describes the settings of agents: the model, its API key, its URL and its prices. A client builds a
    form from the description.

    To change these settings, a client sends the field `agent_settings_diff` in the request that saves
    settings.
    """
    section: dict[str, Any] = {"section": "llm", "section_label": "Model"}
    price = "Dollars per token; left out, what is listed for the model."
    fields = [
        SettingsField(
            key="llm.model",
            label="Model",
            description="Its vendor and name, as in openai/gpt-5.",
            value_type="string",
            prominence="critical",
            **section,
        ),
        SettingsField(
            key="llm.api_key",
            label="API key",
            value_type="string",
            prominence="critical",
            secret=True,
            **section,
        ),
        SettingsField(
            key="llm.base_url",
            label="Base URL",
            description="The address of the model. Empty: the usual address of its vendor.",
            value_type="string",
            prominence="major",
            **section,
        ),
        *(
            SettingsField(key=f"llm.{name}", label=label, description=price, value_type="number", **section)
            for name, label in (
                ("input_cost_per_token", "Price of input"),
                ("output_cost_per_token", "Price of output"),
            )
        ),
    ]
    return SettingsSchema(
        model_name="AgentSettings", sections=[SettingsSection(key="llm", label="Model", fields=fields)]
    )


def conversation_schema() -> SettingsSchema:
    """Describes the settings of conversations: the maximum number of steps, and when the agent asks before it
    acts. A client builds a form from the description.

    To change these settings, a client sends the field `conversation_settings_diff` in the request that saves
    settings.
    """
    general: dict[str, Any] = {"section": "general", "section_label": "Conversation"}
    asking: dict[str, Any] = {"section": "verification", "section_label": "Asking first"}
    limit = SettingsField(
        key="max_iterations",
        label="Steps of a run",
        value_type="integer",
        default=DEFAULT_MAX_ITERATIONS,
        prominence="major",
        **general,
    )
    mode = SettingsField(
        key="confirmation_mode",
        label="Ask before acting",
        value_type="boolean",
        default=False,
        prominence="critical",
        **asking,
    )
    analyzer = SettingsField(
        key="security_analyzer",
        label="Before which steps",
        value_type="string",
        default="llm",
        prominence="major",
        depends_on=["confirmation_mode"],
        choices=[
            SettingsChoice(value="llm", label="Risky steps"),
            SettingsChoice(value="none", label="Every step"),
        ],
        **asking,
    )
    return SettingsSchema(
        model_name="ConversationSettings",
        sections=[
            SettingsSection(key="general", label="Conversation", fields=[limit]),
            SettingsSection(key="verification", label="Asking first", fields=[mode, analyzer]),
        ],
    )
