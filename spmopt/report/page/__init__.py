"""Pages that stand for themselves: one file of HTML with all that it shows.

``shell`` puts a page together from its parts: a body (``*.html``), style sheets (``styles/``),
scripts (``scripts/``) and blocks of data. ``schedule`` makes the page of one schedule, or of two.
"""

from spmopt.report.page.schedule import page, write_page

__all__ = ["page", "write_page"]
