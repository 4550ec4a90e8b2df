"""Pages that stand for themselves: one file of HTML with all that it shows.

``shell`` puts a page together from its parts: a body (``*.html``), style sheets (``styles/``),
scripts (``scripts/``) and blocks of data. ``schedule`` makes the page of one schedule, or of two.
"""

from spmopt.report.page.schedule import page, page_of

__all__ = ["page", "page_of"]
