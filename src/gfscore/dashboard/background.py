"""Work that takes longer than a page may wait: it goes on beside the page, says how far it is, and can be cancelled."""

from collections.abc import Callable
from threading import Event, Thread
from typing import Generic, TypeVar

import streamlit as st

from gfscore.errors import GFScoreError
from gfscore.jobs.calling import Face, Progress
from gfscore.outputs.escaping import plain_text

Made = TypeVar("Made")
SECONDS = 1.0  # between two looks


class CancelledError(Exception):
    """Ends a job from within, at the first step after somebody cancelled it."""


class Watched(Face):
    """A face that remembers how far the work is, and ends it when that is asked for."""

    command = "gfscore dashboard"

    def __init__(self) -> None:
        self.cancelled = Event()
        self.share, self.text = 0.0, "Starting"
        self.place, self.places = 0, 1  # which of several pieces of work, of equal length, this is

    def bar(self, name: str, what: str = "logits", unit: str = "images") -> Progress:
        """What is told how far a piece of work is."""
        self.step()

        def moved(done: int, total: int) -> None:
            self.step()
            self.share = min(1.0, (self.place + done / max(total, 1)) / self.places)
            self.text = f"{name}: {what}, {done:,} of {total:,} {unit}"

        return moved

    def step(self) -> None:
        """End here if that is asked for."""
        if self.cancelled.is_set():
            raise CancelledError


class Work(Generic[Made]):
    """A job that runs in a thread of its own."""

    def __init__(self, job: Callable[[Watched], Made]) -> None:
        self.face = Watched()
        self.found: Made | None = None
        self.error: GFScoreError | None = None
        self.failure: Exception | None = None
        # the job is the thread's, which forgets it at its end: it may hold the samples of a model
        self.thread = Thread(target=self._run, args=(job,), daemon=True, name="gfscore dashboard work")
        self.thread.start()

    def _run(self, job: Callable[[Watched], Made]) -> None:
        try:
            self.found = job(self.face)
        except CancelledError:
            pass
        except GFScoreError as error:
            self.error = error
        except Exception as error:  # raised again by whoever looks: that is where a page can say it
            self.failure = error

    @property
    def is_running(self) -> bool:
        """Whether there is more to wait for."""
        return self.thread.is_alive()

    @property
    def is_cancelled(self) -> bool:
        """Whether somebody stopped it before it was done."""
        return self.face.cancelled.is_set() and self.found is None and self.error is None

    def cancel(self) -> None:
        """Stop at the next step."""
        self.face.cancelled.set()

    def result(self) -> Made | None:
        """What came of it; None while it runs, or when it was cancelled. What went wrong is raised here."""
        if self.is_running:
            return None
        if self.error is not None or self.failure is not None:
            raise self.error or self.failure or CancelledError
        return self.found


def show_work(work: Work[Made], what: str, key: str) -> None:
    """A bar with a button to cancel, renewed by itself; the page runs again when a piece of the work is done."""
    _look(work, what, key, work.face.place)


@st.fragment(run_every=SECONDS)
def _look(work: Work[Made], what: str, key: str, place: int) -> None:
    """Look again and again, without the rest of the page, which has been drawn since the work was at ``place``."""
    if not work.is_running or work.face.place != place:
        st.rerun()
    st.progress(work.face.share, plain_text(f"{what}. {work.face.text}"))
    if work.face.cancelled.is_set():
        st.text("Stopping at the next step.")
    else:
        st.button("Cancel", key=f"cancel-{key}", on_click=work.face.cancelled.set)
