"""Check a policy of your own: that it is legal, steady, and never better than it can be.

::

    from spmopt.testing import CHECKS, check_policy

    check_policy(my_policy)  # raises AssertionError at the first thing that is wrong

    @pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
    def test_my_policy(check):
        check(my_policy)

The program's own policies pass the same checks.
"""

from __future__ import annotations

from spmopt.testing.instances import random_problem
from spmopt.testing.policies import CHECKS, check_policy

__all__ = ["CHECKS", "check_policy", "random_problem"]
