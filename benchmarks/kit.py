"""What a measure works with."""

import itertools
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.script import ScriptedModel
from benchmarks.server import Product, Server


@dataclass(frozen=True)
class Kit:
    """is_quick: fewer and smaller runs. is_peer: whose runs may take minutes where ours take seconds."""

    product: Product
    home: Path
    model: ScriptedModel
    is_peer: bool
    is_quick: bool
    _numbers: "itertools.count[int]" = field(default_factory=itertools.count)

    def server(self) -> Server:
        """A new one, on empty folders. Not started."""
        home = self.home / f"{self.product.name}-{next(self._numbers)}"
        home.mkdir(parents=True)
        return Server(self.product, home, self.model)

    def runs(self, *, ours: int = 5, peer: int = 5) -> range:
        """How often to measure. peer: less where one run takes minutes."""
        return range(1 if self.is_quick else peer if self.is_peer else ours)
