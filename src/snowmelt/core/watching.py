"""What a client sees of its session, and of the statement that runs in it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SessionNames:
    """What the session's statements refer to where they name nothing."""

    user: str
    role: str
    database: str | None = None
    schema: str | None = None
    warehouse: str | None = None


@dataclass(frozen=True, slots=True)
class Progress:
    """How far Spark is with a statement. Stages are added while it runs, so that it may fall behind again."""

    stages_done: int
    stages: int
    tasks_done: int
    tasks: int

    def __str__(self) -> str:
        return (
            f"stage {min(self.stages_done + 1, self.stages)} of {self.stages}, {self.tasks_done} of {self.tasks} tasks"
        )
