"""All studies."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from spmopt.core.errors import unknown
from spmopt.studies import (
    ablation,
    assumptions,
    batch,
    capacity,
    claims,
    curve_time,
    policies,
    speedup,
)
from spmopt.studies.banks import study as banks
from spmopt.studies.gradients import assumptions as gradient_assumptions
from spmopt.studies.gradients import layers, orders, partitions, reads, scale
from spmopt.studies.memory import batch as memory_batch
from spmopt.studies.memory import iso_area, iso_capacity, scaling, training
from spmopt.studies.study import Study

_STUDIES = (
    ablation.STUDY,
    claims.STUDY,
    assumptions.STUDY,
    capacity.STUDY,
    policies.STUDY,
    speedup.STUDY,
    batch.STUDY,
    curve_time.STUDY,
    banks.STUDY,
    orders.STUDY,
    reads.STUDY,
    layers.STUDY,
    *scale.STUDIES,
    partitions.STUDY,
    gradient_assumptions.STUDY,
    iso_capacity.STUDY,
    iso_area.STUDY,
    scaling.STUDY,
    memory_batch.STUDY,
    training.STUDY,
)

STUDIES: Mapping[str, Study] = MappingProxyType({study.name: study for study in _STUDIES})


def find(name: str) -> Study:
    """The study called ``name``; raises :class:`InputError` with the nearest."""
    if name not in STUDIES:
        raise unknown("study", name, STUDIES)
    return STUDIES[name]
