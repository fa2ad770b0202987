"""Whatever happens to a table, following its log gives what delta-rs reads from scratch."""

from __future__ import annotations

import tempfile

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from snowmelt.storage.layout import StorageRoot
from snowmelt.storage.table import DeltaStore, MergeBranch, MergeSpec
from tests.storage.support import SMALL, TAG, small

keys = st.integers(0, 9)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.lists(keys, max_size=4)),
        st.tuples(st.just("overwrite"), st.lists(keys, max_size=4)),
        st.tuples(st.just("delete"), keys),
        st.tuples(st.just("update"), keys),
        st.tuples(st.just("merge"), st.lists(keys, max_size=4, unique=True)),
        st.tuples(st.just("restore"), keys),
        st.tuples(st.just("look"), st.just(0)),
    ),
    max_size=12,
)
UPSERT = MergeSpec(
    't."ID" = s."ID"',
    (
        MergeBranch("matched", "update", None, {"NAME": "'merged'"}),
        MergeBranch("not_matched", "insert", None, {"ID": 's."ID"', "NAME": "'new'"}),
    ),
)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(steps)
def test_incremental_equals_from_scratch(steps: list[tuple[str, object]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = StorageRoot(folder)
        store, where = DeltaStore(root), "a/b/t-1"
        store.create(where, SMALL, change_feed=True, tag=TAG)
        model: dict[int, list[int]] = {0: []}
        for action, argument in steps:
            before = store.latest_version(where)
            now = list(model[before])
            match action, argument:
                case "append", list(given_keys):
                    store.append(where, small(*((key, "x") for key in given_keys)), TAG)
                    now += given_keys
                case "overwrite", list(given_keys):
                    store.overwrite(where, small(*((key, "x") for key in given_keys)), TAG)
                    now = list(given_keys)
                case "delete", int(key):
                    store.delete(where, f'"ID" = {key}', TAG)
                    now = [kept for kept in now if kept != key]
                case "update", int(key):
                    store.update(where, {"NAME": "'u'"}, f'"ID" = {key}', TAG)
                case "merge", list(given_keys):
                    store.merge(where, small(*((key, None) for key in given_keys)), UPSERT, TAG)
                    now += [key for key in given_keys if key not in now]
                case "restore", int(steps_back):
                    target = max(0, before - steps_back)
                    store.restore(where, target, TAG)
                    now = list(model[target])
                case "look", _:
                    store.files(where, before)
            model[store.latest_version(where)] = now
        for version, expected in model.items():
            followed, loaded = store.files(where, version), DeltaStore(root).files(where, version)
            assert set(followed.files) == set(loaded.files)
            assert followed.total_rows == loaded.total_rows == len(expected)
            assert followed.total_bytes == loaded.total_bytes
            assert followed.metadata == loaded.metadata
            assert sorted(store.read(where, version, ["ID"]).column("ID").to_pylist()) == sorted(expected)
