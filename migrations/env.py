"""How Alembic reaches the database: on the connection that `app_server.core.migrations` hands it."""

from alembic import context

from app_server.core.database import Base

context.configure(connection=context.config.attributes["connection"], target_metadata=Base.metadata)
with context.begin_transaction():
    context.run_migrations()
