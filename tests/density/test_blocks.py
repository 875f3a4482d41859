"""Blocks: no split separates rows that depend on each other."""

import jax
import numpy as np
import pytest

from foliax import Circle
from foliax.density import Dataset
from foliax.density.blocks import (
    as_blocks,
    assign_folds,
    describe_lack_of_blocks,
    describe_split,
)

KEY = jax.random.key(0)
ROWS = np.random.default_rng(0).uniform(-3, 3, (60, 1))


def labels_of(*parts):
    return [set(part.blocks.tolist()) for part in parts]


@pytest.mark.parametrize("seed", range(5))
def test_a_split_separates_no_block(seed):
    labels = np.random.default_rng(1).permutation(np.repeat(list("abcdefghij"), 6))
    data = Dataset(ROWS, Circle(), np.arange(1.0, 61.0), blocks=labels)
    kept, held_out = data.split(0.1, key=jax.random.key(seed))
    kept_blocks, held_blocks = labels_of(kept, held_out)
    assert not kept_blocks & held_blocks
    assert len(held_blocks) == 3, "one block alone would be held out too rarely"
    assert len(kept) + len(held_out) == 60
    together = np.concatenate([kept.weights, held_out.weights])
    np.testing.assert_array_equal(np.sort(together), data.weights)


def test_rows_of_held_out_blocks_beyond_the_limit_are_not_fitted():
    kept, held_out = Dataset(ROWS, Circle(), blocks=6).split(0.5, key=KEY, max_held_out=4)
    assert len(held_out) == 4
    kept_blocks, held_blocks = labels_of(kept, held_out)
    assert not kept_blocks & held_blocks
    assert len(kept) % 10 == 0


def test_a_block_of_most_rows_is_never_held_out():
    labels = np.r_[np.zeros(50), np.ones(5), np.full(5, 2)]
    for seed in range(5):
        kept, _ = Dataset(ROWS, Circle(), blocks=labels).split(0.3, key=jax.random.key(seed))
        assert len(kept) >= 50


def test_a_number_makes_consecutive_parts():
    np.testing.assert_array_equal(as_blocks(3, 7), [0, 0, 0, 1, 1, 2, 2])
    np.testing.assert_array_equal(as_blocks(0, 4), [0, 1, 2, 3])
    kept, held_out = Dataset(ROWS, Circle(), blocks=0).split(0.3, key=KEY)
    assert (len(kept), len(held_out)) == (42, 18)


def test_folds_hold_whole_blocks_and_similar_numbers_of_rows():
    blocks = np.repeat(np.arange(20), np.arange(1, 21))
    fold = assign_folds(blocks, 5)
    assert all(len(set(fold[blocks == block])) == 1 for block in range(20))
    sizes = np.bincount(fold)
    assert len(sizes) == 5
    assert sizes.max() - sizes.min() <= 2
    assert assign_folds(blocks, 50).max() == 19


@pytest.mark.parametrize(
    ("blocks", "match"),
    [
        (np.zeros(3), "block labels of shape"),
        (np.zeros(60), "same block label"),
        (1, "at least 2 and below the number of rows, 60"),
        (60, "blocks of one row do nothing"),
        (61, "at least 2 and below the number of rows, 60"),
        (2.5, "at least 2 and below the number of rows, 60"),
    ],
)
def test_what_makes_no_blocks_is_refused(blocks, match):
    with pytest.raises(ValueError, match=match):
        Dataset(ROWS, Circle(), blocks=blocks)


def test_a_share_far_from_what_was_asked_is_described():
    blocks = as_blocks(3, 60)
    text = describe_split(blocks, np.arange(20), 0.2)
    assert text.startswith("1 of 3 blocks is held out, 33% of the rows instead of 20%")
    assert describe_split(as_blocks(20, 60), np.arange(9), 0.1) == ""
    assert describe_lack_of_blocks(blocks, np.arange(20)) == ""
    assert "have 3 blocks, and 2 of them are held out" in describe_lack_of_blocks(
        blocks, np.arange(40)
    )


def test_one_block_cannot_be_split():
    with pytest.raises(ValueError, match="Use more blocks"):
        Dataset(ROWS, Circle(), blocks=2).take(np.arange(20)).split(0.1, key=KEY)
