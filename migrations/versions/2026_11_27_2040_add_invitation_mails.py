"""Add invitations that are sent by e-mail."""

import sqlalchemy as sa
from alembic import op

revision = "add_invitation_mails"
down_revision = "follow_stopped_conversations"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "invitation_mails",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("inviter_id", sa.Uuid(), nullable=True),
        sa.Column("address", sa.String(250), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("sent_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("link_expires_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("failed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], name="fk_invitation_mails_user_id", ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["inviter_id"], ["users.id"], name="fk_invitation_mails_inviter_id", ondelete="SET NULL"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_invitation_mails"),
        sa.UniqueConstraint("user_id", name="uq_invitation_mails_user_id"),
    )
    op.create_index("ix_invitation_mails_inviter_id", "invitation_mails", ["inviter_id"])


def downgrade() -> None:
    op.drop_table("invitation_mails")
