"""Sign-in by a SAML 2.0 provider: Web Browser SSO Profile, begun here, with a signed answer by HTTP POST."""
