"""Deploy-time configuration of the sign-in by identity providers."""
