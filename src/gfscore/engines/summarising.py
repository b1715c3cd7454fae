"""Forward passes whose logits are not kept: shard by shard into a summary, on this machine or on a worker."""

from dataclasses import asdict, dataclass

from gfscore.digests import refuse_changed
from gfscore.engines.loading import Loaded
from gfscore.engines.local import Progress, check_run, forward_shard, recipe_for
from gfscore.errors import naming
from gfscore.inputs.store import Store
from gfscore.inputs.sum_log import SumLog
from gfscore.samples import Samples
from gfscore.scores import great_scores
from gfscore.summaries import Look, Summary


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """The GREAT score that is summed, and the deal of the samples."""

    activation: str = "softmax"
    temperature: float = 1.0
    probabilities: bool = False  # the model gives probabilities, not logits
    seed: int = 0  # of the blocks and halves that samples are counted in


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Summed:
    """The scores of a model on data, as a summary."""

    loaded: Loaded
    summary: Summary


def summarise(
    loaded: Loaded,
    score: Score,
    store: Store,
    progress: Progress = lambda _done, _total: None,
    look: Look = lambda _so_far: None,
) -> Summed:
    """Run a model on data and keep sums only: neither memory nor store grows with the data."""
    n_classes, probe = check_run(loaded.model, loaded.data, loaded.preprocessing)
    recipe = recipe_for(loaded.model, loaded.data, loaded.preprocessing, loaded.batch_size)
    recipe = store.probed(recipe, loaded.model, probe)
    shards = recipe.shards()
    with SumLog(store.root, recipe, asdict(score), look, class_names=loaded.data.class_names) as log:
        refuse_changed(loaded.model, loaded.data)
        for shard in log.missing:
            log.add(shard, shard_summary(loaded, shards[shard], score, n_classes))
            progress(shards[shard].stop, recipe.n_samples)
        progress(recipe.n_samples, recipe.n_samples)
        return Summed(loaded=loaded, summary=log.summary)


def shard_summary(loaded: Loaded, rows: slice, score: Score, n_classes: int) -> Summary:
    """Summary of some rows of the data."""
    data = loaded.data
    done = forward_shard(loaded.model, data, loaded.preprocessing, rows, loaded.batch_size, n_classes)
    refuse_changed(loaded.model, data)
    with naming(loaded.name):
        samples = Samples.of(
            done.values,
            data.labels[rows],
            class_names=data.class_names,
            probabilities=score.probabilities,
            piece=True,
            halved_batches=done.halved,
        )
        local = great_scores(samples, activation=score.activation, temperature=score.temperature)
        return Summary.of(samples, local, first_row=rows.start, seed=score.seed)
