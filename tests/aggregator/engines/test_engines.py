"""Counting in several processes: what one would count, also if a worker is killed in the middle."""

from __future__ import annotations

import pytest
from distributed import Client, LocalCluster

from deniable_aggregator.answering.engines import Kernel, dask_cluster, processes
from tests.aggregator.engines.killing import KillingKernel
from tests.aggregator.engines.reported import SPECS, batch_of, random_rows, write_files

pytestmark = pytest.mark.service

KERNEL = Kernel(SPECS.values())
ROWS = random_rows(400)


@pytest.fixture(scope="module")
def client():
    """A cluster of two worker processes, which are started again when they die."""
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        yield client


@pytest.fixture
def files(tmp_path):
    return write_files(tmp_path, ROWS)


def test_dask_counts_what_one_process_counts(client, files, monkeypatch):
    assert dask_cluster.count(KERNEL, files, client) == KERNEL.partial(batch_of(ROWS))
    monkeypatch.setattr(dask_cluster, "MERGED", 2)
    assert dask_cluster.count(KERNEL, files, client) == KERNEL.partial(batch_of(ROWS))


def test_dask_counts_again_what_a_killed_worker_had_counted(client, files, tmp_path):
    killing = KillingKernel(SPECS.values(), files[3], tmp_path / "killed")
    assert dask_cluster.count(killing, files, client) == KERNEL.partial(batch_of(ROWS))
    assert (tmp_path / "killed").exists()


def test_nothing_is_counted_of_no_files(client):
    assert dask_cluster.count(KERNEL, [], client) == KERNEL.merge([])


def test_a_pool_says_that_a_process_was_killed_and_counting_again_is_safe(files, tmp_path):
    killing = KillingKernel(SPECS.values(), files[3], tmp_path / "killed")
    with pytest.raises(processes.WorkerEndedError, match="count again with fewer processes"):
        processes.count(killing, files, 1)
    assert processes.count(killing, files, 1) == KERNEL.partial(batch_of(ROWS))
