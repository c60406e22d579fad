"""Defines the facts that the model catalogue has about one model, such as its context
window and its price.
"""

from dataclasses import dataclass

from agent_runtime.metering.prices import Price

DEFAULT_WINDOW = 128_000
"""The context window in tokens of a model for which the model catalogue states no context window."""

THINKING_BLOCKS, REASONING_CONTENT = "thinking_blocks", "reasoning_content"
"""The two forms in which vendors require the model's earlier reasoning in later requests: as thinking blocks,
or in the field `reasoning_content`.
"""


@dataclass(frozen=True)
class Facts:
    """The facts of the model catalogue about one model. For a model that is not in the catalogue, the fields
    have the values of the model's family. Fields that the family does not set have the defaults of this
    class.

    `is_listed`: whether the catalogue has an entry for the model, not only for its family. `maker`: the
    company that made the model; None if not known. `window`: the context window in tokens. `max_output`: the
    maximum length of a reply in tokens; None if not known. `price`: None if not known. `inputs`: the kinds of
    input that the model accepts besides text, such as `image`. `protocols`: the API protocols that the vendor
    offers for the model, the preferred one first. `efforts`: the reasoning efforts that the model accepts; an
    empty tuple means that it accepts none, None means not known. `takes_budget`: whether the model accepts a
    number of thinking tokens. `refused`: sampling parameters that the model refuses. `echo`: the form in
    which the model's reasoning must be sent back to the vendor: THINKING_BLOCKS or REASONING_CONTENT; None
    means that it is not sent back. `marks_cache`: whether a request must mark the text that the vendor
    caches. `writes_patches`: whether the model was trained on the format of the tool `apply_patch`. `caches`:
    whether the vendor has a prompt cache for the model; None if not known. `calls_tools`: whether the
    vendor's API has tool calls for this model; if not, tool calls are parsed from the model's text.
    """

    is_listed: bool = False
    maker: str | None = None
    window: int = DEFAULT_WINDOW
    max_output: int | None = None
    price: Price | None = None
    inputs: frozenset[str] = frozenset()
    protocols: tuple[str, ...] = ("chat",)
    efforts: tuple[str, ...] | None = None
    takes_budget: bool = False
    refused: frozenset[str] = frozenset()
    echo: str | None = None
    marks_cache: bool = False
    writes_patches: bool = False
    caches: bool | None = None
    calls_tools: bool = True

    @property
    def sees_images(self) -> bool:
        return "image" in self.inputs

    @property
    def takes_effort(self) -> bool:
        """Whether a reasoning effort may be sent to this model. Also True if the catalogue does not say which
        efforts the model accepts. This does no harm: an effort is sent only if the user has set one.
        """
        return self.efforts is None or bool(self.efforts)
