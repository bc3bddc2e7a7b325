"""Workflows: graphs of operators, fitted, applied, inverted and saved."""

from merlinkit.workflow.graph import Node, by_tags
from merlinkit.workflow.transformed import Transformed
from merlinkit.workflow.workflow import Workflow

__all__ = ["Node", "Transformed", "Workflow", "by_tags"]
