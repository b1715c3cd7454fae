"""An audit as something to hand on: one HTML file, Markdown, or a section of a model card."""

from gfscore.outputs.report.cards import model_card
from gfscore.outputs.report.pages import html
from gfscore.outputs.report.texts import markdown

__all__ = ["html", "markdown", "model_card"]
