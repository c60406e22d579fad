"""A TLS context for clients that use only plain HTTP: `httpx.Client(verify=NO_TLS)`.

By default each client loads all commonly trusted certificates, which takes 20 ms of processor time.
"""

import ssl

NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""A TLS context that trusts no certificate."""
