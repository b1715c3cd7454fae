"""Files that come through the browser: audits and logits, and of each logits file whether it holds probabilities."""

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from gfscore.dashboard.subjects import AUDITS, Subject, uploaded_subjects
from gfscore.errors import GFScoreError
from gfscore.inputs.logits_files import SUFFIXES
from gfscore.outputs.escaping import plain_text, shorten

UPLOADS, MODEL = "uploads", "model"  # keys of the session
LOGITS, PROBABILITIES = "logits", "probabilities"
# what an error says to those who write commands, and what is to be done here instead
WORDS = {
    "say --probabilities (probabilities=True)": "choose probabilities in its box",
    "leave --probabilities (probabilities=True) out": "choose logits in its box",
}
Known = dict[tuple[str, str], list[Subject]]


def uploads(place: DeltaGenerator) -> list[Subject]:
    """Models from files that came through the browser, the newest last; a broken one is a sentence."""
    with place:
        files = st.file_uploader(
            "Open audits or logits",
            type=[suffix.removeprefix(".") for suffix in (AUDITS, *SUFFIXES)],
            accept_multiple_files=True,
            help="An audit.json; or an npz with logits and labels, or the same as safetensors, parquet or csv. "
            "No pickle is loaded.",
        )
        # The uploader says it to screen readers only, and a caption would be too pale.
        st.text(f"Larger than {st.get_option('server.maxUploadSize')} MB is refused.")
        known: Known = st.session_state.setdefault(UPLOADS, {})
        now: Known = {}
        for file in files:
            key = (file.file_id, _kind(file.name, file.file_id))
            try:
                if key in known:
                    now[key] = known[key]
                else:
                    now[key] = uploaded_subjects(
                        file.name, file.getvalue(), "-".join(key), probabilities=key[1] == PROBABILITIES
                    )
                    st.session_state[MODEL] = now[key][0].key  # what was just uploaded is what is looked at
            except GFScoreError as error:
                st.error(plain_text(_in_words_of_page(str(error))))
        for key in known.keys() - now.keys():  # what is no longer there is forgotten, with all that was computed of it
            for subject in known[key]:
                subject.kept.clear()
        known.clear()  # not another dictionary: until its next run the session would keep this one too
        known.update(now)
        return [subject for found in now.values() for subject in found]


def _kind(name: str, file_id: str) -> str:
    """What a file holds: said by its ending, or in a box of its own."""
    if name.lower().endswith(AUDITS):
        return "audit"
    chosen = st.selectbox(
        plain_text(f"{shorten(name)} holds"),
        (LOGITS, PROBABILITIES),
        key=f"kind-{file_id}",
        help="To probabilities softmax is not applied again.",
    )
    return str(chosen)


def _in_words_of_page(text: str) -> str:
    """A message without options of a command, which a page does not have."""
    for said, here in WORDS.items():
        text = text.replace(said, here)
    return text
