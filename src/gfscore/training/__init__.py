"""Repair by training: one trainer, and the published methods as strategies that it asks."""

from gfscore.training.class_weights import Ball, worst_weights
from gfscore.training.methods import STRATEGIES, Strategy
from gfscore.training.recipes import Recipe

__all__ = ["STRATEGIES", "Ball", "Recipe", "Strategy", "worst_weights"]
