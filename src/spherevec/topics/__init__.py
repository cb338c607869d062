"""Topics found and named, their tree, their course over time."""

from spherevec.topics.find import find_topics, search_topics, topics_of
from spherevec.topics.names import Name, read_names
from spherevec.topics.persistence import load_topics
from spherevec.topics.state import Topic
from spherevec.topics.topics import Topics
from spherevec.topics.update import TopicGrowth, carry_topics, compare_topics, grow_topics

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
