"""The single settings document of the OpenHands API. The document is a view of the settings that the features
of Slipway store.
"""
