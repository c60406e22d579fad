"""Let users choose sandbox specs of the organisation and of teams."""

import sqlalchemy as sa
from alembic import op

revision = "choose_given_specs"
down_revision = "add_skill_checks"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("sandbox_spec_choices") as table:
        table.alter_column("spec_id", existing_type=sa.Uuid(), nullable=True)
        table.add_column(sa.Column("given_name", sa.String(100), nullable=True))


def downgrade() -> None:
    op.execute("DELETE FROM sandbox_spec_choices WHERE spec_id IS NULL")
    with op.batch_alter_table("sandbox_spec_choices") as table:
        table.drop_column("given_name")
        table.alter_column("spec_id", existing_type=sa.Uuid(), nullable=False)
