"""The list of models has those of the vendors that a caller names, and no others."""

import pytest

from agent_runtime.metering.listed_models import listed_models


@pytest.mark.parametrize("vendors", [{"openai"}, {"bedrock"}, {"openai", "vertex_ai"}])
def test_only_models_of_the_wanted_vendors_are_listed(vendors: set[str]) -> None:
    assert {model.vendor for model in listed_models(vendors)} == vendors
