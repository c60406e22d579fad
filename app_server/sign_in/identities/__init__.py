"""External identities: people as identity providers describe them, and the Slipway accounts to which they
belong.
"""
