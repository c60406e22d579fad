"""The `Facts` that the catalogue knows about one model, such as its context window and its price."""

from dataclasses import dataclass

from agent_runtime.metering.prices import Price

DEFAULT_WINDOW = 128_000
"""The context window in tokens, for a model whose window is not stated."""

THINKING_BLOCKS, REASONING_CONTENT = "thinking_blocks", "reasoning_content"
"""The forms in which models need their reasoning back."""


@dataclass(frozen=True)
class Facts:
    """The facts about a model. For a model that is not in the catalogue, the facts of its model family apply,
    and the defaults of this class for the rest.

    `is_listed`: the model is in the catalogue, not only its family. `window`, `max_output`: in tokens;
    `max_output` is None if it is not known. `protocols`: the vendor's protocols for the model, the better one
    first. `efforts`: the reasoning efforts that the model accepts; an empty tuple means that it accepts none,
    None means not known. `takes_budget`: accepts a number of thinking tokens. `refused`: sampling parameters
    that the model refuses. `echo`: the form in which the model's reasoning must be sent back:
    THINKING_BLOCKS, REASONING_CONTENT or None. `writes_patches`: was trained on the format of `apply_patch`.
    `caches`: whether the vendor has a prompt cache for the model; None if it is not known. `calls_tools`: the
    model has tool calls at its vendor; False means that calls are read from its text.
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
        """Whether a reasoning effort may be sent. Also True if it is not known, since it is sent only if a
        user asks for it.
        """
        return self.efforts is None or bool(self.efforts)
