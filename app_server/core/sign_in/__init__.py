"""The deploy-time configuration of the identity providers by which people sign in."""
