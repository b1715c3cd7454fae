"""An audit as something to hand on: one HTML file, Markdown, or a section of a model card."""

from gfscore.outputs.report.html_report import html
from gfscore.outputs.report.markdown_report import markdown, model_card
from gfscore.outputs.report.report_head import ReportHead

__all__ = ["ReportHead", "html", "markdown", "model_card"]
