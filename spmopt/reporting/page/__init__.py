"""Pages that stand for themselves: one file of HTML with all that it shows.

``shell`` puts a page together from its parts: a body (``*.html``), style sheets (``styles/``),
scripts (``scripts/``) and blocks of data. ``schedule`` makes the page of one schedule, or of two,
``curves`` that of a sweep, ``front`` that of a search.
"""

from spmopt.reporting.page.curves import curves_page
from spmopt.reporting.page.front import TrialCommands, front_page
from spmopt.reporting.page.schedule import page, page_of

__all__ = ["TrialCommands", "curves_page", "front_page", "page", "page_of"]
