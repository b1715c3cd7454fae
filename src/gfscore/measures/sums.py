"""Class sums of the GREAT score: logits that are not kept, shard by shard into a summary."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from gfscore.errors import naming
from gfscore.measures.logits import Logits
from gfscore.measures.run import Measure, RowsDone, Run
from gfscore.measures.summary_files import summary_from_bytes, summary_to_bytes
from gfscore.samples import Samples
from gfscore.scores import great_scores
from gfscore.summaries import Summary


@dataclass(frozen=True, slots=True, kw_only=True)
class Sums(Measure[Summary]):
    """The GREAT score that is summed, and the deal of the samples: neither memory nor store grows with the data."""

    name = "sums"
    activation: str = "softmax"
    temperature: float = 1.0
    probabilities: bool = False  # the model gives probabilities, not logits
    seed: int = 0  # of the blocks and halves that samples are counted in

    @property
    def settings(self) -> Mapping[str, Any]:
        """What makes the score, and the deal."""
        return asdict(self)

    def rows_per_shard(self, run: Run) -> int:
        """As for logits."""
        return Logits().rows_per_shard(run)

    def compute(self, run: Run, rows: slice, done: RowsDone = lambda _rows: None) -> Summary:
        """Summary of some rows, with the batches that the run noted as halved meanwhile."""
        data, logits = run.data, Logits().compute(run, rows, done)
        run.refuse_changed()  # before anything is said about what was read
        with naming(run.name):
            samples = Samples.of(
                logits,
                data.labels[rows],
                class_names=data.class_names,
                probabilities=self.probabilities,
                piece=True,
                halved_batches=run.notes.halved_batches,
            )
            local = great_scores(samples, activation=self.activation, temperature=self.temperature)
            return Summary.of(samples, local, first_row=rows.start, seed=self.seed)

    def to_bytes(self, part: Summary) -> bytes:
        """The summary as its file."""
        return summary_to_bytes(part)

    def from_bytes(self, content: bytes) -> Summary:
        """What :meth:`to_bytes` gave, once everything in it was found to fit together."""
        return summary_from_bytes(content)
