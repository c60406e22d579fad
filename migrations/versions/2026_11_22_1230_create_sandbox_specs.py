"""Create sandbox specs of users, what they start from, and note what a sandbox is built on."""

import sqlalchemy as sa
from alembic import op

revision = "create_sandbox_specs"
down_revision = "create_egress_credentials"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "sandbox_specs",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column("base", sa.String(length=300), nullable=False),
        sa.Column("origin", sa.Text(), nullable=True),
        sa.Column("dockerfile", sa.Text(), nullable=True),
        sa.Column("build", sa.JSON(), nullable=True),
        sa.Column("files", sa.LargeBinary(), nullable=True),
        sa.Column("ignored", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], name="fk_sandbox_specs_user_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_sandbox_specs"),
        sa.UniqueConstraint("user_id", "name", name="uq_sandbox_specs_user_id_name"),
    )
    op.create_index("ix_sandbox_specs_base", "sandbox_specs", ["base"])
    op.create_table(
        "sandbox_spec_choices",
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("repository", sa.String(length=500), nullable=False),
        sa.Column("spec_id", sa.Uuid(), nullable=False),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], name="fk_sandbox_spec_choices_user_id", ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["spec_id"], ["sandbox_specs.id"], name="fk_sandbox_spec_choices_spec_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("user_id", "repository", name="pk_sandbox_spec_choices"),
    )
    op.create_index("ix_sandbox_spec_choices_spec_id", "sandbox_spec_choices", ["spec_id"])
    op.add_column("sandboxes", sa.Column("base_image", sa.String(length=300), nullable=True))


def downgrade() -> None:
    op.drop_column("sandboxes", "base_image")
    op.drop_table("sandbox_spec_choices")
    op.drop_table("sandbox_specs")
