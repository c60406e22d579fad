"""Let git connections and sign-in apps have certificate authorities."""

import sqlalchemy as sa
from alembic import op

revision = "add_git_certificate_authorities"
down_revision = "add_selected_directories"
branch_labels = None
depends_on = None

_TABLES = ("git_credentials", "git_oauth_apps")


def upgrade() -> None:
    for table in _TABLES:
        op.add_column(table, sa.Column("certificate_authorities", sa.Text(), nullable=True))


def downgrade() -> None:
    for name in _TABLES:
        with op.batch_alter_table(name) as table:
            table.drop_column("certificate_authorities")
