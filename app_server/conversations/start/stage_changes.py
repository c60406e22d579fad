"""Builds functions that write the outcome or the progress of a step into a start task, the row that describes
a conversation's start.
"""

from collections.abc import Callable

from app_server.conversations.models import StartStatus, StartTask
from app_server.conversations.start import tasks as start_tasks
from app_server.conversations.start.context import StepOutcome
from app_server.core.database import now


def finisher(stage: StartStatus, outcome: StepOutcome) -> Callable[[StartTask], None]:
    """Returns a function that ends the stage `stage` in a start task, the row that describes a conversation's
    start. The returned function copies from `outcome`, the result of the step, into this stage: the state,
    the text for the user and the output. It also stores the current time as the end of the stage.
    """

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
    """Returns a function that writes the progress of a running step into a start task, the row that describes
    a conversation's start. `stage`: the stage to which the step belongs. `detail`: a short text about the
    progress; it is written into this stage and into the field `detail` of the start task. `output`: the end
    of what the step's command has printed so far; it is written into the stage.
    """

    def apply(task: StartTask) -> None:
        task.detail = detail
        start_tasks.set_stage(task, stage, detail=detail, output=output)

    return apply
