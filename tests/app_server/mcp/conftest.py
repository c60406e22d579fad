from tests.app_server.sandbox_keys import keys

__all__ = ["keys"]
