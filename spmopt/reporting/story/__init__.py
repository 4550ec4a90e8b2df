"""What each decision about a network is worth: text, sentences, JSON and the data of a page."""

from spmopt.reporting.story.decisions import Decision, Key
from spmopt.reporting.story.record import page_record, story_parts, story_record
from spmopt.reporting.story.sentences import sentences

__all__ = ["Decision", "Key", "page_record", "sentences", "story_parts", "story_record"]
