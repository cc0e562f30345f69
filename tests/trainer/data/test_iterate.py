import json

import numpy as np
import pytest
import torch

from hrmdoc.errors import ConfigError, InputError
from hrmdoc.trainer.data import DataInfo, PuzzleData, iterate, write_split
from hrmdoc.trainer.data.iterate import TrainIterator


def write(path, split="train", groups=10, puzzles=1, examples=1):
    """A dataset in which a row's first input token is its example's number and the second its puzzle's."""
    P = groups * puzzles
    inputs = np.zeros((P * examples, 4), np.uint8)
    inputs[:, 0], inputs[:, 1] = np.arange(P * examples), np.repeat(np.arange(P), examples)
    write_split(
        path,
        split,
        DataInfo(vocab_size=256, seq_len=4, num_puzzle_identifiers=P + 1, ignore_label_id=None),
        inputs,
        inputs,
        puzzle_indices=np.arange(P + 1) * examples,
        group_indices=np.arange(groups + 1) * puzzles,
        puzzle_identifiers=np.arange(P) + 1,
    )
    return PuzzleData(path, split)


def numbers(batch):
    return batch["inputs"][:, 0].tolist()


def test_an_epoch_shows_every_group_once_in_a_random_order(tmp_path):
    iterator = TrainIterator(write(tmp_path, groups=12), 4)
    epochs = [[n for _ in range(3) for n in numbers(next(iterator))] for _ in range(2)]
    assert sorted(epochs[0]) == sorted(epochs[1]) == list(range(12))
    assert epochs[0] != epochs[1] != sorted(epochs[1])


def test_batches_run_on_over_the_end_of_an_epoch(tmp_path):
    iterator = TrainIterator(write(tmp_path, groups=6), 4)
    rows = [n for _ in range(3) for n in numbers(next(iterator))]
    assert sorted(rows[:6]) == sorted(rows[6:]) == list(range(6))
    assert iterator.state_dict() == {"seed": 0, "epoch": 1, "position": 6}


def test_a_batch_larger_than_the_dataset_repeats_it(tmp_path):
    batch = next(TrainIterator(write(tmp_path, groups=3), 9))
    assert sorted(numbers(batch)) == sorted([0, 1, 2] * 3)


def test_one_augmentation_of_a_group_is_drawn_per_epoch(tmp_path):
    iterator = TrainIterator(write(tmp_path, groups=5, puzzles=8), 5)
    seen = set()
    for _ in range(60):
        puzzles = next(iterator)["inputs"][:, 1].numpy()
        assert sorted(puzzles // 8) == [0, 1, 2, 3, 4]
        seen |= set(puzzles.tolist())
    assert seen == set(range(40))


def test_all_examples_of_a_puzzle_come_and_the_last_puzzle_is_cut_at_random(tmp_path):
    data = write(tmp_path, groups=10, examples=5)
    cut = set()
    for seed in range(20):
        rows = np.array(numbers(next(TrainIterator(data, 12, seed=seed))))
        counts = np.bincount(rows // 5, minlength=10)
        assert sorted(counts[counts > 0]) == [2, 5, 5]
        cut.add(frozenset((rows[rows // 5 == counts.tolist().index(2)] % 5).tolist()))
        assert len(set(rows.tolist())) == 12
    assert len(cut) > 4


def test_identifiers_belong_to_the_rows(tmp_path):
    batch = next(TrainIterator(write(tmp_path, groups=5, puzzles=3, examples=2), 8))
    assert batch["puzzle_identifiers"].tolist() == [p + 1 for p in batch["inputs"][:, 1].tolist()]
    assert {value.dtype for value in batch.values()} == {torch.int32}


def test_the_stream_follows_from_the_seed(tmp_path):
    data = write(tmp_path, groups=20, puzzles=2, examples=3)
    streams = [
        [numbers(next(iterator)) for _ in range(15)]
        for iterator in (TrainIterator(data, 7, seed=s) for s in (3, 3, 4))
    ]
    assert streams[0] == streams[1] != streams[2]


@pytest.mark.parametrize("done", [0, 1, 5, 13])
def test_a_resumed_stream_goes_on_where_it_stopped(tmp_path, done):
    data = write(tmp_path, groups=20, puzzles=2, examples=3)
    whole, first = TrainIterator(data, 7, seed=3), TrainIterator(data, 7, seed=3)
    for _ in range(done):
        next(whole), next(first)
    state = json.loads(json.dumps(first.state_dict()))
    second = TrainIterator(data, 7, seed=99)
    second.load_state_dict(state)
    assert [numbers(next(whole)) for _ in range(20)] == [numbers(next(second)) for _ in range(20)]


def test_ranks_share_each_batch_without_overlap(tmp_path):
    data = write(tmp_path, groups=24)
    alone = TrainIterator(data, 12, seed=1)
    ranks = [TrainIterator(data, 12, seed=1, rank=rank, world_size=3) for rank in range(3)]
    for _ in range(5):
        parts = [numbers(next(rank)) for rank in ranks]
        assert [len(part) for part in parts] == [4, 4, 4]
        assert [n for part in parts for n in part] == numbers(next(alone))


def test_several_sets_are_mixed(tmp_path):
    write(tmp_path, groups=4)
    folder = tmp_path / "train"
    for file in list(folder.glob("all__*.npy")):
        array = np.load(file)
        if file.name == "all__inputs.npy":
            array = array + np.uint8(100)
        np.save(folder / file.name.replace("all", "more"), array)
    facts = json.loads((folder / "dataset.json").read_text())
    (folder / "dataset.json").write_text(json.dumps(facts | {"sets": ["all", "more"]}))
    batch = next(TrainIterator(PuzzleData(tmp_path, "train"), 8))
    assert sorted(numbers(batch)) == [0, 1, 2, 3, 100, 101, 102, 103]
    assert [n % 100 for n in numbers(batch)] == batch["labels"][:, 0].tolist()


def test_an_uneven_batch_size_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="evenly by 3 ranks"):
        TrainIterator(write(tmp_path), 10, world_size=3)


def test_an_empty_training_set_is_refused(tmp_path):
    write_split(tmp_path, "train", DataInfo(4, 4), np.zeros((0, 4), np.uint8), np.zeros((0, 4), np.uint8))
    file = tmp_path / "train/dataset.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"total_groups": 1}))
    with pytest.raises(InputError, match="no groups"):
        TrainIterator(PuzzleData(tmp_path, "train"), 2)


def test_evaluation_shows_every_example_once_in_order_and_fills_the_last_batch(tmp_path):
    data = write(tmp_path, "test", groups=5, puzzles=1, examples=2)
    batches = list(iterate.test_batches(data, 4))
    assert [b.set_name for b in batches] == ["all"] * 3
    assert [n for b in batches for n in numbers(b.batch)][:10] == list(range(10))
    last = batches[-1].batch
    assert last["inputs"][2:].tolist() == [[0] * 4] * 2
    assert last["labels"][2:].tolist() == [[-100] * 4] * 2
    assert last["puzzle_identifiers"].tolist() == [5, 5, 0, 0]


def test_evaluation_ranks_share_all_examples_and_see_equally_many_batches(tmp_path):
    data = write(tmp_path, "test", groups=9)
    ranks = [list(iterate.test_batches(data, 4, rank, 2)) for rank in range(2)]
    assert [len(rank) for rank in ranks] == [3, 3]
    real = [
        n
        for rank in ranks
        for b in rank
        for n, label in zip(numbers(b.batch), b.batch["labels"][:, 0], strict=True)
        if label != -100
    ]
    assert sorted(real) == list(range(9))
