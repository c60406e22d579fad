"""Triggers: events at git hosts start conversations here and continue them."""
