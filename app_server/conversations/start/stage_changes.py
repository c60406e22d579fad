"""Makes functions that change a stage of a start task, when the step of this stage has ended or has made
progress.
"""

from collections.abc import Callable

from app_server.conversations.models import StartStatus, StartTask
from app_server.conversations.start import tasks as start_tasks
from app_server.conversations.start.context import StepOutcome
from app_server.core.database import now


def finisher(stage: StartStatus, outcome: StepOutcome) -> Callable[[StartTask], None]:
    """Returns a function that stores in a start task that this stage has ended with this outcome."""

    def finish(task: StartTask) -> None:
        start_tasks.set_stage(
            task,
            stage,
            state=outcome.state,
            finished_at=now().isoformat(),
            detail=outcome.detail,
            output=outcome.output,
        )

    return finish


def progress_setter(
    stage: StartStatus, detail: str | None, output: str | None
) -> Callable[[StartTask], None]:
    """Returns a function that stores the progress of this stage in a start task. `detail`: the latest line.
    `output`: the last lines that were printed.
    """

    def apply(task: StartTask) -> None:
        task.detail = detail
        start_tasks.set_stage(task, stage, detail=detail, output=output)

    return apply
