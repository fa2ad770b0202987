"""What every table is created with, and what every delta-rs commit carries."""

from __future__ import annotations

import time
from collections.abc import Sequence

from deltalake import CommitProperties, PostCommitHookProperties, Transaction

from snowmelt.storage.commits import AppTransaction, CommitTag

CHECKPOINT_INTERVAL = 100
_FOREVER = "interval 36500 days"
# Nothing is cleaned up behind the state store's back: it alone knows which versions are still needed.
CONFIGURATION = {
    "delta.logRetentionDuration": _FOREVER,
    "delta.deletedFileRetentionDuration": _FOREVER,
    "delta.enableExpiredLogCleanup": "false",
    "delta.checkpointInterval": str(CHECKPOINT_INTERVAL),
    "delta.enableDeletionVectors": "false",
}
HOOKS = PostCommitHookProperties(create_checkpoint=False, cleanup_expired_logs=False)
"""For delta-rs: checkpoints are ours to make, and clean-up is nobody's."""


def commit_properties(tag: CommitTag, app_transactions: Sequence[AppTransaction] = ()) -> CommitProperties:
    return CommitProperties(
        custom_metadata={"userMetadata": tag.user_metadata()},
        app_transactions=[Transaction(one.app_id, one.version, int(time.time() * 1000)) for one in app_transactions]
        or None,
    )
