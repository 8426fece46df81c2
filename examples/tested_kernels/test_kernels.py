"""Both tests pass under `pytest`, also on a GPU most of the time; `pytest --tileverify` fails the racy one."""

import cuda.tile as ct
import numpy as np
import pytest

from kernels import sum_all, sum_rows


@pytest.mark.parametrize("columns", [16, 100, 128])
def test_sum_rows(columns):
    x = np.arange(5 * columns, dtype=np.float32).reshape(5, columns)
    sums = np.zeros(5, np.float32)
    ct.launch(0, (5,), sum_rows, (x, sums, 64))
    np.testing.assert_allclose(sums, x.sum(axis=1))


def test_sum_all():
    x = np.arange(1000, dtype=np.float32)
    total = np.zeros(1, np.float32)
    ct.launch(0, (8,), sum_all, (x, total, 128))
    assert total[0] == x.sum()


def test_without_a_launch():
    assert ct.cdiv(1000, 128) == 8
