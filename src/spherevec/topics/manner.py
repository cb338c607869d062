"""Words that say how something is said, not what it is about."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from spherevec.corpus.tokenize.function_words import BY_LANGUAGE

if TYPE_CHECKING:
    from spherevec.model import Model

# A language is used where words that are function words in no other language are this share of the text, leaving out
# the most frequent ones: "die" and "war" do not count as German in English text.
_LEAST_SHARE, _LEFT_OUT = 0.005, 2

# cs.pitt.edu, example.com; not node.js.
_HOST = re.compile(r"[\w-]+(\.[\w-]+)+\.[a-z]{2,3}|[\w-]+\.(com|edu|gov|mil|org)")
# Words of questions and requests that are no function words, yet say nothing of the subject.
_QUESTIONS = {
    "English": (
        "answer answers anybody anyone anything ask asked asking best better difference differences do does else "
        "example examples good hello help hi how kind know need needed needs nothing please possible "
        "problem problems question questions regards someone something thank thanks thing things trouble "
        "trying use used uses using vs versus want wanted wants way ways what when where which who why won work "
        "working works wrong"
    ),
    "German": (
        "bitte danke frage fragen hallo hilfe jemand kennt möchte möglich möglichkeit problem probleme "
        "unterschied warum wann was weiß welche welcher welches wer weshalb wieso"
    ),
    "French": (
        "aide besoin bonjour comment différence merci meilleur pourquoi possible problème quand quel quelle quelles "
        "quels quelqu'un question quoi"
    ),
    "Spanish": (
        "alguien ayuda cómo cuál cuándo diferencia dónde gracias hola mejor necesito posible pregunta problema qué "
        "quién"
    ),
}


def manner_words(model: Model) -> NDArray[np.bool_]:
    """(V,), words too general to define a topic: function words, words of questions, hosts and marks."""
    words = model.words.names or []
    counts = np.ones(len(words)) if model.counts is None else np.asarray(model.counts, np.float64)
    share = dict(zip(words, (counts / max(counts.sum(), 1)).tolist(), strict=True))
    manner: set[str] = set()
    for language, listed in BY_LANGUAGE.items():
        others = frozenset().union(*(other for name, other in BY_LANGUAGE.items() if name != language))
        if sum(sorted(share.get(word, 0.0) for word in listed - others)[:-_LEFT_OUT]) >= _LEAST_SHARE:
            manner.update(listed, _QUESTIONS.get(language, "").split())
    return np.array([word in manner or _is_sign(word) for word in words], np.bool_)


def _is_sign(word: str) -> bool:
    """Whether a word is a mark without letters and digits, or a host, as in addresses and signatures."""
    return not any(map(str.isalnum, word)) or _HOST.fullmatch(word) is not None
