"""Sign-in by a SAML 2.0 provider: Web Browser SSO Profile, which begins at Slipway and ends with a signed
response by HTTP POST.
"""
