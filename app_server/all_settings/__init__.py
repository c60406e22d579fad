"""The single settings document of the protocol. It is a view of the settings that the features store."""
