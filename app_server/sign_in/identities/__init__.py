"""External identities: people as identity providers of any protocol know them, and the Slipway accounts that
they sign in to.
"""
