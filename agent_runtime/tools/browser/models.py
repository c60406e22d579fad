"""The actions and the observation (result) of the browser tools."""

from typing import Any, Literal

from pydantic import Field

from agent_runtime.tools.tool import Action, Observation


class BrowserNavigateAction(Action):
    url: str = Field(description="The address: http, https, or file for a file of the workspace.")
    new_tab: bool = Field(default=False, description="True opens it in a new tab. Default: false.")


class BrowserClickAction(Action):
    index: int = Field(ge=0, description="The element's number in the latest browser_get_state.")
    new_tab: bool = Field(
        default=False, description="True opens what a link leads to in a new tab. Default: false."
    )


class BrowserTypeAction(Action):
    index: int = Field(ge=0, description="The field's number in the latest browser_get_state.")
    text: str = Field(
        description="What the field is to contain, in place of what stands there. A line break at the end "
        "presses Enter in a field of one line. For a list: the option's name. For a file field: the path of "
        "a file in the workspace. For dates and times: as in 2030-12-31 and 23:59."
    )


class BrowserGetStateAction(Action):
    include_screenshot: bool = Field(
        default=False, description="True adds a picture of what is in view. Default: false."
    )


class BrowserGetContentAction(Action):
    extract_links: bool = Field(default=False, description="True keeps links' addresses. Default: false.")
    start_from_char: int = Field(
        default=0,
        ge=0,
        description="Where to go on in a long text, as the last piece says. Default: 0.",
    )


class BrowserScrollAction(Action):
    direction: Literal["up", "down"] = Field(
        default="down", description="Which way, by most of what is in view. Default: down."
    )


class BrowserGoBackAction(Action):
    pass


class BrowserListTabsAction(Action):
    pass


class BrowserSwitchTabAction(Action):
    tab_id: str = Field(description="The tab, as browser_list_tabs names it.")


class BrowserCloseTabAction(Action):
    tab_id: str = Field(description="The tab, as browser_list_tabs names it.")


class BrowserGetStorageAction(Action):
    pass


class BrowserSetStorageAction(Action):
    storage_state: dict[str, Any] = Field(
        description="`cookies` and `origins`, as browser_get_storage returns them."
    )


class BrowserStartRecordingAction(Action):
    pass


class BrowserStopRecordingAction(Action):
    pass


class BrowserObservation(Observation):
    """The result of a browser tool call. Its text usually begins with the page's URL and title, as the lines
    `URL: …` and `Title: …`. If there is a screenshot, it is an image in the field `content`.

    The fields `screenshot_data` and `full_output_save_dir` are part of the protocol of OpenHands. Slipway
    does not use them: they are always None.
    """

    screenshot_data: str | None = None
    full_output_save_dir: str | None = None
