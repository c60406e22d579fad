"""How long tests wait for what has to come. Only a failure takes as long; a machine may be slow and busy."""

PATIENCE_SECONDS = 120.0
