"""Pages that stand for themselves: one file of HTML with all that it shows.

``shell`` puts a page together from its parts: a body (``*.html``), style sheets (``styles/``),
scripts (``scripts/``) and blocks of data. ``schedule`` makes the page of one schedule, or of two,
``sheet`` a page of pictures and tables: of a sweep, a search, or an ablation.
"""

from spmopt.reporting.page.schedule import page, page_of
from spmopt.reporting.page.sheet import sheet

__all__ = ["page", "page_of", "sheet"]
