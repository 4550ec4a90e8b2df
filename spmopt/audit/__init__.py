"""Result files checked against themselves; see :mod:`spmopt.audit.claims`."""

from spmopt.audit.claims import Audit, audit
from spmopt.audit.fusion import restore

__all__ = ["Audit", "audit", "restore"]
