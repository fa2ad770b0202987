"""Which transactions a snapshot of PostgreSQL sees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

_EPOCH = 1 << 32


@dataclass(frozen=True, slots=True)
class Visibility:
    """What `pg_current_snapshot()` says: `xmin:xmax:running,running`, in numbers of 64 bits."""

    oldest: int
    """All before it have ended."""
    next: int
    """No transaction from this number on is visible."""
    running: frozenset[int]

    @classmethod
    def parse(cls, text: str) -> Self:
        oldest, following, running = text.split(":")
        return cls(int(oldest), int(following), frozenset(int(each) for each in running.split(",") if each))

    def sees(self, transaction: int) -> bool:
        """Of a transaction that committed, whose number may lack the upper half, as it does in the log.

        It is taken for the one of that number which is nearest: the log is read within two billion transactions.
        """
        whole = self.next + (transaction - self.next + _EPOCH // 2) % _EPOCH - _EPOCH // 2
        return whole < self.oldest or (whole < self.next and whole not in self.running)

    def lacks_ended(self, earlier: Visibility) -> bool:
        """Whether this one takes a transaction for running which the earlier one knew to have ended.

        A commit is in the log before others see it, for as long as a synchronous standby takes. A slot that begins
        behind such a commit does not tell of it, and a snapshot taken meanwhile does not see it either.
        """
        return any(each < earlier.next and each not in earlier.running for each in self.running)
