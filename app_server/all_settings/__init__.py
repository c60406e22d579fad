"""The protocol's one document of settings: a view of what the features keep for themselves."""
