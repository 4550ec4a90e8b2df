"""Dual values of more of each resource on a machine: scratchpad, bandwidth, processing elements."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from spmopt.analysis.shadow_prices import ShadowPrices
from spmopt.core.result import Certificate
from spmopt.io.files import StoredResult
from spmopt.metrics import in_unit
from spmopt.search.candidate import Candidate
from spmopt.search.records import ResourceDuals
from spmopt.sweeps.cases import Network
from spmopt.verifier import bound

_MB, _GB = 10**6, 10**9
_PART = 128


def resource_duals_of(
    stored: StoredResult, candidate: Candidate, network: Network
) -> ResourceDuals | None:
    """Find them by the dual values that prove the bound of a result; None where it has none.

    None for banks too: the dual value of a byte depends on the bank; and for fused results, whose
    dual values are of their fusion plan.

    Those of scratchpad and bandwidth are slopes, see :mod:`spmopt.analysis.shadow_prices`. Of
    processing elements it is a difference: the same dual values, evaluated with one row more of
    every array, or with 1/128 more of a rate, prove another bound; both are true, and no solver is
    asked.

    Raises
    ------
    InputError
        Dual values that prove nothing about the result.
    """
    certificate = stored.result.certificate
    if certificate is None or stored.problem.machine.banks or stored.is_fused:
        return None
    duals, machine = ShadowPrices.of(stored.problem, certificate), stored.problem.machine
    per_pe = _per_pe(candidate, network, certificate, duals.bound)

    def shown(amount: Fraction) -> float:
        return in_unit(certificate.objective, machine, amount)[0]

    return ResourceDuals(
        unit=in_unit(certificate.objective, machine, duals.bound)[1],
        bound=shown(duals.bound),
        per_mb=shown(duals.spm.per_byte * _MB),
        per_gbps=shown(duals.per_byte_per_s * _GB),
        per_pe=None if per_pe is None else shown(per_pe),
    )


def _per_pe(
    candidate: Candidate, network: Network, certificate: Certificate, proved: Fraction
) -> Fraction | None:
    if network.is_lowered:
        return None
    machine = candidate.machine
    if machine.array is None:
        rate = machine.operations_per_s + -(-machine.operations_per_s // _PART)
        more = replace(machine, operations_per_s=rate)
        units = Fraction(rate - machine.operations_per_s, 2 * machine.clock_hz)
    else:
        array = replace(machine.array, rows=machine.array.rows + 1)
        more = replace(machine, array=array)
        units = Fraction(candidate.cores * array.columns)
    larger = replace(candidate, machine=more).problem(network)
    return (proved - bound(larger, certificate)) / units
