"""Checkpoints are whole or absent, verified, and hold nothing that runs."""

from __future__ import annotations

import errno
import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch

from merlinkit.errors import ArtifactError, RunDirError
from merlinkit.training import checkpoint_files
from merlinkit.training.checkpoint import Checkpoint, CheckpointStore
from merlinkit.training.weights import load_weights


def contents(value: int) -> Checkpoint:
    return Checkpoint(
        model={"w": torch.full((3, 2), float(value)), "empty": torch.empty(0, 4)},
        training={"rng/cpu": torch.tensor([value], dtype=torch.uint8)},
        state={"step": value},
    )


@pytest.fixture
def store(tmp_path: Path) -> CheckpointStore:
    return CheckpointStore(tmp_path / "checkpoints")


def folders(store: CheckpointStore) -> list[str]:
    return sorted(path.name for path in store.folder.iterdir() if path.is_dir())


def test_what_is_written_is_read(store: CheckpointStore) -> None:
    assert store.path("last") is None
    path = store.save(contents(5), step=5, best=True)
    found = store.read("last")
    assert torch.equal(found.model["w"], torch.full((3, 2), 5.0))
    assert found.model["empty"].shape == (0, 4)
    assert found.training["rng/cpu"].tolist() == [5] and found.state == {"step": 5}
    assert store.read("best", training=False).training == {}
    assert {item.suffix for item in path.iterdir()} == {".safetensors", ".json"}


def test_only_the_last_and_the_best_stay(store: CheckpointStore) -> None:
    for step, best in ((1, True), (2, False), (3, True), (4, False), (5, False)):
        store.save(contents(step), step=step, best=best)
    assert folders(store) == ["step-00000003", "step-00000005"]
    assert store.read("best").state == {"step": 3} and store.read("last").state == {"step": 5}


def test_the_first_checkpoint_is_the_best_there_is(store: CheckpointStore) -> None:
    store.save(contents(1), step=1, best=False)
    assert store.read("best").state == {"step": 1}


def test_one_step_can_be_saved_twice(store: CheckpointStore) -> None:
    store.save(contents(1), step=7, best=True)
    store.save(contents(2), step=7, best=False)
    assert folders(store) == ["step-00000007", "step-00000007.2"]
    assert store.read("best").state == {"step": 1} and store.read("last").state == {"step": 2}


def test_tensors_that_share_memory_or_are_views(store: CheckpointStore) -> None:
    base = torch.arange(12.0).reshape(3, 4)
    tied = {"a": base, "b": base, "column": base[:, 1], "transposed": base.T}
    store.save(Checkpoint(tied, {}, {}), step=1, best=True)
    found = store.read("last").model
    for name, value in tied.items():
        assert torch.equal(found[name], value)


class Killed(BaseException):
    """Nothing runs after it."""


def calls_of_one_save(store: CheckpointStore, monkeypatch: pytest.MonkeyPatch) -> int:
    with monkeypatch.context() as patch:
        counter = die_at(patch, -1)
        store.save(contents(2), step=2, best=False)
        return counter[0]


def die_at(patch: pytest.MonkeyPatch, at: int) -> list[int]:
    """End everything just before the given call that changes what is on disk."""
    count = [0]
    dead = [False]

    def mortal(name: str, module: Any) -> None:
        original = getattr(module, name)

        def call(*args: Any, **kwargs: Any) -> Any:
            if dead[0]:
                return None
            if count[0] == at:
                dead[0] = True
                raise Killed
            count[0] += 1
            return original(*args, **kwargs)

        patch.setattr(module, name, call)

    for name, module in (
        ("fsync", os),
        ("rename", os),
        ("replace", os),
        ("rmtree", shutil),
        ("save_file", checkpoint_files),
    ):
        mortal(name, module)
    return count


def test_killed_anywhere_leaves_a_whole_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fresh = CheckpointStore(tmp_path / "count")
    fresh.save(contents(1), step=1, best=True)
    calls = calls_of_one_save(fresh, monkeypatch)
    # Two files of tensors, five flushes before the rename, and more after it.
    assert calls >= 10
    seen = set()
    for at in range(calls):
        store = CheckpointStore(tmp_path / str(at))
        store.save(contents(1), step=1, best=True)
        with monkeypatch.context() as patch:
            die_at(patch, at)
            with pytest.raises(Killed):
                store.save(contents(2), step=2, best=False)
        # A new process finds the old or the new checkpoint, whole, and goes on.
        again = CheckpointStore(store.folder)
        step = again.read("last").state["step"]
        seen.add(step)
        assert step in (1, 2) and again.read("best").state == {"step": 1}
        assert torch.equal(again.read("last").model["w"], torch.full((3, 2), float(step)))
        again.clean()
        again.save(contents(3), step=3, best=True)
        assert folders(again) == ["step-00000003"]
        assert sorted(path.name for path in again.folder.iterdir()) == [
            "index.json",
            "step-00000003",
        ]
    assert seen == {1, 2}


def test_a_full_disk_keeps_what_was_there(
    store: CheckpointStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.save(contents(1), step=1, best=True)

    def full(*args: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(checkpoint_files, "save_file", full)
        with pytest.raises(RunDirError, match=r"No space left.*earlier checkpoints are unchanged"):
            store.save(contents(2), step=2, best=True)
    assert folders(store) == ["step-00000001"]
    assert store.read("best").state == {"step": 1}


@pytest.mark.parametrize("name", ["model.safetensors", "training.safetensors", "state.json"])
def test_damage_is_named(store: CheckpointStore, name: str) -> None:
    path = store.save(contents(1), step=1, best=True) / name
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    with pytest.raises(ArtifactError, match=f"{name} is not as it was written"):
        store.read("last")
    path.write_bytes(data[:-3])
    with pytest.raises(ArtifactError, match=f"{name} is not as it was written: {len(data) - 3} b"):
        store.read("last")
    path.unlink()
    with pytest.raises(ArtifactError, match=f"{name} is missing"):
        store.read("last")


def test_other_damage_is_named(store: CheckpointStore) -> None:
    with pytest.raises(ArtifactError, match="there is no checkpoint in"):
        store.read("best")
    path = store.save(contents(1), step=1, best=True)
    manifest = path / "manifest.json"
    text = manifest.read_text()
    manifest.write_text(text.replace('"format": 1', '"format": 9'))
    with pytest.raises(ArtifactError, match=r"manifest\.json is of format 9, 1 expected"):
        store.read("last")
    manifest.write_text(text.replace("state.json", "other.json"))
    with pytest.raises(ArtifactError, match=r"does not list state\.json"):
        store.read("last")
    manifest.write_text(text[:20])
    with pytest.raises(ArtifactError, match=r"manifest\.json is not valid JSON"):
        store.read("last")
    shutil.rmtree(path)
    with pytest.raises(ArtifactError, match="names the last checkpoint step-00000001, which is n"):
        store.read("last")


@pytest.mark.parametrize("name", ["../outside", "step-1/../../outside", "/etc", "model", 3])
def test_an_index_cannot_point_elsewhere(store: CheckpointStore, name: object) -> None:
    store.folder.mkdir()
    index = {"format": 1, "last": name, "best": name}
    (store.folder / "index.json").write_text(json.dumps(index))
    with pytest.raises(ArtifactError, match="which is not a checkpoint"):
        store.read("last")


def test_a_pickle_is_refused(store: CheckpointStore) -> None:
    path = store.save(contents(1), step=1, best=True)
    torch.save({"w": torch.zeros(3, 2)}, path / "model.safetensors")
    checkpoint_files.write_manifest(
        path, ["model.safetensors", "training.safetensors", "state.json"]
    )
    with pytest.raises(ArtifactError, match=r"model\.safetensors cannot be read as safetensors"):
        store.read("last")


def test_weights_that_do_not_fit_are_named_and_change_nothing(tmp_path: Path) -> None:
    model = torch.nn.Linear(2, 3)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    with pytest.raises(ArtifactError) as caught:
        load_weights(model, {"weight": torch.zeros(3, 4), "scale": torch.zeros(1)}, tmp_path)
    message = str(caught.value)
    for part in (
        "'bias' is missing",
        "'scale' is unknown to the model",
        "'weight' has shape [3, 4], the model needs [3, 2]",
        "schema and the parameters of the run",
    ):
        assert part in message
    with pytest.raises(ArtifactError, match=r"'weight' holds torch\.float64, the model needs"):
        load_weights(
            model, {"weight": torch.zeros(3, 2).double(), "bias": torch.zeros(3)}, tmp_path
        )
    for name, value in model.state_dict().items():
        assert torch.equal(value, before[name])


def test_many_differences_are_cut_short(tmp_path: Path) -> None:
    model = torch.nn.ModuleList(torch.nn.Linear(1, 1, bias=False) for _ in range(20))
    with pytest.raises(ArtifactError, match="and 12 more"):
        load_weights(model, {}, tmp_path)
