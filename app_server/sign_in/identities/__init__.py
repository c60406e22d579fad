"""The identities of people at providers, of any protocol, and the accounts that they sign in to."""
