"""For clients of servers that speak plain HTTP: `httpx.Client(verify=NO_TLS)`.

By default each client loads all certificates that are commonly trusted, which takes 20 ms of processor time.
"""

import ssl

NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""It trusts no certificate at all."""
