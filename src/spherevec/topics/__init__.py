"""Topics found and named, their tree, their course over time."""

from spherevec.topics.find import find_topics
from spherevec.topics.folder import load_topics
from spherevec.topics.growth import TopicGrowth, carry_topics, compare_topics, grow_topics
from spherevec.topics.keeping import topics_of
from spherevec.topics.names import Name, read_names
from spherevec.topics.result import Topics
from spherevec.topics.search import search_topics
from spherevec.topics.state import Topic

__all__ = [
    "Name",
    "Topic",
    "TopicGrowth",
    "Topics",
    "carry_topics",
    "compare_topics",
    "find_topics",
    "grow_topics",
    "load_topics",
    "read_names",
    "search_topics",
    "topics_of",
]
