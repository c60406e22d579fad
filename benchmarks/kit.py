"""The objects that each measurement uses."""

import itertools
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.script import ScriptedModel
from benchmarks.server import Product, Server


@dataclass(frozen=True)
class Kit:
    """The objects and settings that a measurement gets: the product to measure, a directory for its files,
    and the scripted model. `is_peer`: whether the product is the OpenHands agent server; its runs may take
    minutes where Slipway's runs take seconds. `is_quick`: whether to make fewer and smaller runs.
    """

    product: Product
    home: Path
    model: ScriptedModel
    is_peer: bool
    is_quick: bool
    _numbers: "itertools.count[int]" = field(default_factory=itertools.count)

    def server(self) -> Server:
        """Returns a new server of the product, with empty directories. The server is not started yet."""
        home = self.home / f"{self.product.name}-{next(self._numbers)}"
        home.mkdir(parents=True)
        return Server(self.product, home, self.model)

    def runs(self, *, ours: int = 5, peer: int = 5) -> range:
        """Returns a range for a loop that makes the runs of a measurement. The length of the range is `ours`
        for Slipway, `peer` for the OpenHands agent server, and 1 if `is_quick` is set. A measurement sets a
        small `peer` if one run of the OpenHands agent server takes minutes.
        """
        return range(1 if self.is_quick else peer if self.is_peer else ours)
