"""Keep which account belongs to which person of an OpenID Connect provider."""

import sqlalchemy as sa
from alembic import op

revision = "add_external_identities"
down_revision = "add_web_session_details"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "external_identities",
        sa.Column("id", sa.Uuid(), primary_key=True),
        sa.Column("issuer", sa.String(500), nullable=False),
        sa.Column("subject", sa.String(255), nullable=False),
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("email", sa.String(320), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], name="fk_external_identities_user_id", ondelete="CASCADE"
        ),
        sa.UniqueConstraint("issuer", "subject", name="uq_external_identities_issuer_subject"),
    )
    op.create_index("ix_external_identities_user_id", "external_identities", ["user_id"])
    for table in ("web_sessions", "sign_in_links"):
        op.add_column(table, sa.Column("identity_id", sa.Uuid(), nullable=True))
        op.add_column(table, sa.Column("provider_session", sa.String(255), nullable=True))
    op.create_index("ix_web_sessions_identity_id", "web_sessions", ["identity_id"])


def downgrade() -> None:
    op.drop_index("ix_web_sessions_identity_id", "web_sessions")
    for table in ("web_sessions", "sign_in_links"):
        op.drop_column(table, "provider_session")
        op.drop_column(table, "identity_id")
    op.drop_table("external_identities")
