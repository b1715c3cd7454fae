"""Radii of the embedded networks: measured once for all who look, beside the page."""

from collections.abc import Sequence
from dataclasses import replace

import streamlit as st

from gfscore.dashboard.background import Watched, Work, show_work
from gfscore.dashboard.subjects import Subject
from gfscore.jobs.options import Options
from gfscore.jobs.robustness import FoundRadii, MeasuredRadii, find_radii


class ZooRadii:
    """What is known of the radii by now, and the work that finds the rest."""

    def __init__(self, subjects: Sequence[Subject]) -> None:
        self.subjects = [subject for subject in subjects if subject.model is not None]
        self.found: dict[str, FoundRadii] = {}
        self.work: Work[None] | None = None

    def start(self) -> None:
        """Go on where it was stopped."""
        if self.work is None or not self.work.is_running:
            self.work = Work(self._measure)

    def _measure(self, face: Watched) -> None:
        wanted = MeasuredRadii.of(Options(), None)
        face.places = len(self.subjects)
        for place, subject in enumerate(self.subjects):
            face.place = place
            run = None if subject.model is None else subject.model.run
            if subject.key not in self.found and run is not None and subject.samples is not None and wanted is not None:
                self.found[subject.key] = find_radii(run, subject.samples, wanted, face)

    def added_to(self, subjects: Sequence[Subject]) -> list[Subject]:
        """The subjects with the radii that are known."""
        return [replace(subject, radii=self.found.get(subject.key)) for subject in subjects]

    def show(self) -> None:
        """How far it is, with a button to stop it; or to go on."""
        if self.work is None:
            return
        left = len(self.subjects) - len(self.found)
        if self.work.is_running:
            show_work(self.work, "Measuring radii, from which robust accuracy follows", "radii")
        elif self.work.is_cancelled and left:
            st.text(f"Robust accuracy was not measured of {left} of {len(self.subjects)} networks: it was cancelled.")
            st.button("Measure it", on_click=self.start)
        else:
            self.work.result()  # raises what went wrong
