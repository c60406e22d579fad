"""Triggers: events at git hosts start conversations in Slipway or are sent to conversations as messages."""
