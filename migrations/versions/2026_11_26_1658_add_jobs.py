"""Keep durable jobs."""

import sqlalchemy as sa
from alembic import op

revision = "add_jobs"
down_revision = "search_messages"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "jobs",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("kind", sa.String(80), nullable=False),
        sa.Column("payload", sa.JSON(), nullable=False),
        sa.Column("key", sa.String(200), nullable=True),
        sa.Column("priority", sa.Integer(), nullable=False),
        sa.Column("state", sa.String(40), nullable=False),
        sa.Column("run_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("every_seconds", sa.Integer(), nullable=True),
        sa.Column("lease_owner", sa.String(32), nullable=True),
        sa.Column("lease_until", sa.DateTime(timezone=True), nullable=False),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("result", sa.JSON(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_jobs"),
    )
    op.create_index("ix_jobs_state_run_at", "jobs", ["state", "run_at"])
    op.create_index("ix_jobs_state_lease_until", "jobs", ["state", "lease_until"])
    op.create_index("ix_jobs_kind_created_at", "jobs", ["kind", "created_at"])
    op.create_index("ix_jobs_key", "jobs", ["key"])
    running_key = sa.text("state = 'running' AND key IS NOT NULL")
    op.create_index(
        "uq_jobs_running_key",
        "jobs",
        ["key"],
        unique=True,
        postgresql_where=running_key,
        sqlite_where=running_key,
    )


def downgrade() -> None:
    op.drop_table("jobs")
