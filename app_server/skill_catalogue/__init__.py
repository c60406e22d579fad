"""The catalogue of skills that users can install. It contains the skills that are part of Slipway and the
skills in registered marketplaces, which are git repositories.
"""
