"""Formulas as MathML, which browsers draw by themselves."""

import re

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.util.typing import ExtensionMetadata
from sphinx.writers.html5 import HTML5Translator


def _mathml(node: nodes.Element, as_block: bool) -> str:
    # Browsers size brackets by themselves, and docutils does not know these commands.
    tex = re.sub(r"\\[bB]igg?[lrm]?(?![a-zA-Z])", "", node.astext())
    return str(tex2mathml(tex, as_block=as_block))


def _inline(translator: HTML5Translator, node: nodes.Element) -> None:
    translator.body.append(_mathml(node, as_block=False))
    raise nodes.SkipNode


def _block(translator: HTML5Translator, node: nodes.Element) -> None:
    translator.body.append(f'<div class="math">{_mathml(node, as_block=True)}</div>')
    raise nodes.SkipNode


def setup(app: Sphinx) -> ExtensionMetadata:
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
