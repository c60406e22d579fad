"""Sign-in by a SAML 2.0 provider (Web Browser SSO Profile). The sign-in begins at Slipway. The provider's
signed response comes back by HTTP POST.
"""
