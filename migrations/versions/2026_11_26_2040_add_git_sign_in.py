"""Keep applications of git hosts, and what users were granted with them."""

import sqlalchemy as sa
from alembic import op

revision = "add_git_sign_in"
down_revision = "add_conversation_links"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "git_oauth_apps",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("origin", sa.String(300), nullable=False),
        sa.Column("provider", sa.String(40), nullable=False),
        sa.Column("api_url", sa.String(500), nullable=True),
        sa.Column("sign_in_url", sa.String(500), nullable=True),
        sa.Column("client_id", sa.String(300), nullable=False),
        sa.Column("client_secret_encrypted", sa.Text(), nullable=True),
        sa.Column("private_key_encrypted", sa.Text(), nullable=True),
        sa.Column("scopes", sa.Text(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_git_oauth_apps"),
        sa.UniqueConstraint("origin", name="uq_git_oauth_apps_origin"),
    )
    op.create_table(
        "git_grants",
        sa.Column("credential_id", sa.Uuid(), nullable=False),
        sa.Column("app_id", sa.Uuid(), nullable=True),
        sa.Column("refresh_token_encrypted", sa.Text(), nullable=True),
        sa.Column("installation_id", sa.String(40), nullable=True),
        sa.Column("scopes", sa.Text(), nullable=True),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("renew_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("is_refused", sa.Boolean(), nullable=False),
        sa.Column("claimed_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["credential_id"],
            ["git_credentials.id"],
            name="fk_git_grants_credential_id",
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["app_id"], ["git_oauth_apps.id"], name="fk_git_grants_app_id", ondelete="SET NULL"
        ),
        sa.PrimaryKeyConstraint("credential_id", name="pk_git_grants"),
    )
    op.create_index("ix_git_grants_app_id", "git_grants", ["app_id"])


def downgrade() -> None:
    op.drop_table("git_grants")
    op.drop_table("git_oauth_apps")
