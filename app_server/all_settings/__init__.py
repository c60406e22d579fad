"""The settings document of the OpenHands API: one document with all settings of a user. It is computed from
the settings that other packages of Slipway store.
"""
