"""Prices of more of each resource on a machine: scratchpad, bandwidth, processing elements."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from spmopt.analysis.shadow_prices import ShadowPrices
from spmopt.core.result import Certificate
from spmopt.io.files import StoredResult
from spmopt.metrics import in_unit
from spmopt.search.candidate import Candidate
from spmopt.search.records import ResourcePrices
from spmopt.sweeps.cases import Network
from spmopt.verifier import bound

_MB, _GB = 10**6, 10**9
_PART = 128


def resource_prices_of(
    stored: StoredResult, candidate: Candidate, network: Network
) -> ResourcePrices | None:
    """Find them by the prices that prove the bound of a result; None where it has none.

    None for banks too: the price of a byte depends on the bank; and for results in pieces, whose
    prices are of their cover.

    Those of scratchpad and bandwidth are slopes, see :mod:`spmopt.analysis.shadow_prices`. Of
    processing elements it is a difference: the same prices, evaluated with one row more of every
    array, or with 1/128 more of a rate, prove another bound; both are true, and no solver is asked.

    Raises
    ------
    InputError
        Prices that prove nothing about the result.
    """
    certificate = stored.result.certificate
    if certificate is None or stored.instance.machine.banks or stored.is_in_pieces:
        return None
    prices, machine = ShadowPrices.of(stored.instance, certificate), stored.instance.machine
    per_pe = _per_pe(candidate, network, certificate, prices.bound)

    def shown(amount: Fraction) -> float:
        return in_unit(certificate.objective, machine, amount)[0]

    return ResourcePrices(
        unit=in_unit(certificate.objective, machine, prices.bound)[1],
        bound=shown(prices.bound),
        per_mb=shown(prices.spm.per_byte * _MB),
        per_gbps=shown(prices.per_byte_per_s * _GB),
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
    larger = replace(candidate, machine=more).instance(network)
    return (proved - bound(larger, certificate)) / units
