"""Result files checked against themselves; see :mod:`spmopt.audit.audit`."""

from spmopt.audit.audit import Audit, audit
from spmopt.audit.pieces import restored

__all__ = ["Audit", "audit", "restored"]
