"""The known facts about one model."""

from dataclasses import dataclass

from agent_runtime.metering.prices import Price

DEFAULT_WINDOW = 128_000
"""Tokens, for a model whose window is not stated."""

THINKING_BLOCKS, REASONING_CONTENT = "thinking_blocks", "reasoning_content"
"""What models want back of their thinking."""


@dataclass(frozen=True)
class Facts:
    """Of a model that is not in the catalogue: what these defaults say, and what its family is known for.

    is_listed: in the catalogue, not only one of a family. window, max_output: tokens; max_output None where
    it is not known. protocols: what its vendor speaks for it, the better one first. efforts: how hard it can
    be told to think; empty for not at all, None where it is not known. takes_budget: may be told how many
    tokens to think. refused: parameters of sampling that it refuses. echo: THINKING_BLOCKS,
    REASONING_CONTENT or None. writes_patches: was trained on the format of `apply_patch`.
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

    @property
    def sees_images(self) -> bool:
        return "image" in self.inputs

    @property
    def takes_effort(self) -> bool:
        """Whether a reasoning effort may be sent. Also True if it is not known, since it is sent only if a
        user asks for it.
        """
        return self.efforts is None or bool(self.efforts)
