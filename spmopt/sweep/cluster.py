"""A cluster of Dask workers, as an executor like any other."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from importlib import import_module

from spmopt.core.errors import InputError

_CONNECT_S = 10


@contextmanager
def cluster(address: str) -> Iterator[tuple[Executor, int]]:
    """An executor on the cluster of a Dask scheduler, and how many threads work there.

    Workers need this program, and files of networks under the same names.

    Raises
    ------
    InputError
        No cluster answers at ``address``, it has no workers, or Dask is not installed.
    """
    option = f"--scheduler-address {address}"
    try:
        distributed = import_module("distributed")
    except ImportError:
        raise InputError(
            "--scheduler-address: Dask is not installed; pip install -e '.[cluster]'"
        ) from None
    try:
        client = distributed.Client(address, timeout=_CONNECT_S, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        why = " ".join(str(error).split())[:200]
        raise InputError(f"{option}: no cluster answers ({why})") from None
    with client:
        threads = sum(client.nthreads().values())
        if not threads:
            raise InputError(f"{option}: the cluster has no workers; start some")
        yield client.get_executor(pure=False), threads
