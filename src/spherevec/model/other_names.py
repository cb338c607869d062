"""What gensim, BERTopic and scikit-learn call things, and what to write here instead."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any

# What to write for each attribute; `topics` are those of `model.topics()`.
HERE = MappingProxyType({
    "wv": "model.words",
    "dv": "model.docs",
    "docvecs": "model.docs",
    "most_similar": "model.words.most_similar(word) or model.docs.most_similar(id)",
    "infer_vector": "model.infer([text])",
    "build_vocab": "spherevec.train(texts)",
    "train": "spherevec.train(texts), or model.update(texts) to add documents",
    "fit_transform": "spherevec.train(texts).topics()",
    "transform": "topics.predict(texts), or model.infer(texts) for vectors",
    "approximate_distribution": "topics.predict_proba(texts)",
    "find_topics": "model.search(text, among='topics')",
    "get_topic_info": "topics.to_pandas()",
    "get_topic": "topics.words(3)",
    "get_topics": "topics.words_by_place",
    "get_document_info": "topics.documents()",
    "get_representative_docs": "topics.examples(3)",
    "get_topic_tree": "topics.tree",
    "hierarchical_topics": "topics.tree",
    "merge_topics": "topics.merge(3, 7)",
    "reduce_topics": "topics.cut(8)",
    "set_topic_labels": "topics.rename(3, 'ice hockey')",
    "topics_over_time": "topics.over('created', 'month')",
    "topics_per_class": "topics.by('team')",
    "visualize_barchart": "topics.plot()",
    "visualize_documents": "model.explore('map.html')",
    "visualize_hierarchy": "topics.plot_tree()",
    "visualize_topics": "topics.plot()",
    "visualize_topics_over_time": "topics.over('created', 'month').plot()",
})  # fmt: skip


class OtherNames:
    """An object whose `AttributeError` for a name of another library says what to write here."""

    if not TYPE_CHECKING:  # for a type checker it has no other attributes

        def __getattr__(self, name: str) -> Any:
            if name not in HERE:
                return object.__getattribute__(self, name)  # raises the usual error, or that of a property
            kind = type(self).__name__
            here = HERE[name].replace("topics.", "model.topics().") if kind == "Model" else HERE[name]
            raise AttributeError(f"{kind!r} object has no attribute {name!r}; use {here}")
