"""Which columns of a table are classes, and how its labels are read: two readings are never decided by chance."""

import numpy as np
import pytest

from gfscore import audit_models, read_samples
from gfscore.errors import FileError

NAMES = ["ant", "bee", "cow"]
N = 60


@pytest.fixture
def frame():
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    rng = np.random.default_rng(0)
    labels = np.arange(N) % 3
    logits = rng.normal(0, 1, (N, 3)).round(3)
    logits[np.arange(N), labels] += 1.5
    table = pandas.DataFrame(logits, columns=NAMES)
    return table.assign(label=[NAMES[label] for label in labels])


@pytest.fixture
def read(tmp_path):
    def read(table, suffix=".csv", *, index=False, **options):
        path = tmp_path / f"m{suffix}"
        table.to_csv(path, index=index) if suffix == ".csv" else table.to_parquet(path, index=index)
        return read_samples(path, **options)

    return read


def flags(samples):
    return {flag.code: flag.message for flag in audit_models({"m": samples}).models[0].flags}


class TestIndexOfPandas:
    @pytest.mark.parametrize("suffix", [".csv", ".parquet"])
    def test_a_shuffled_frame_has_the_classes_it_had(self, frame, read, suffix):
        plain = read(frame, suffix)
        shuffled = read(frame.sample(frac=1, random_state=0), suffix, index=True)
        assert shuffled.class_names == plain.class_names == tuple(NAMES)
        assert sorted(map(tuple, shuffled.logits.tolist())) == sorted(map(tuple, plain.logits.tolist()))
        name = "one without a name" if suffix == ".csv" else "__index_level_0__"
        message = f"1 column of the table was taken for no class and left out ({name})."
        assert flags(shuffled)["left_out_columns"] == message
        assert "left_out_columns" not in flags(plain)

    @pytest.mark.parametrize("name", ["Unnamed: 0", "Unnamed: 0.1"])
    def test_an_index_that_was_saved_twice(self, frame, read, name):
        samples = read(frame.assign(**{name: np.arange(N)}))
        assert (samples.class_names, samples.table.left_out) == (tuple(NAMES), (name,))

    def test_an_index_that_has_a_name_is_known_from_the_schema(self, frame, read):
        samples = read(frame.assign(picture=np.arange(N)).set_index("picture"), ".parquet", index=True)
        assert (samples.class_names, samples.table.left_out) == (tuple(NAMES), ("picture",))

    def test_an_index_of_sample_ids_is_used(self, frame, read):
        samples = read(frame.assign(sample_id=np.arange(N)).set_index("sample_id"), ".parquet", index=True)
        assert (samples.class_names, samples.sample_ids[:2]) == (tuple(NAMES), ("0", "1"))


class TestStrangers:
    @pytest.mark.parametrize("suffix", [".csv", ".parquet"])
    @pytest.mark.parametrize("name", ["id", "pred", "fold", "confidence", "luminance"])
    def test_a_column_that_no_label_names_is_refused(self, frame, read, name, suffix):
        table = frame.assign(**{name: frame[NAMES].max(axis=1)})
        with pytest.raises(FileError, match=f"has a column '{name}' that no label names: .* --class-names"):
            read(table, suffix)
        chosen = read(table, suffix, class_names=NAMES)
        assert (chosen.class_names, chosen.table.left_out) == (tuple(NAMES), (name,))
        assert "left_out_columns" in flags(chosen)

    def test_a_class_without_a_sample_is_one_when_it_is_named(self, frame, read):
        table = frame[frame.label != "bee"]
        with pytest.raises(FileError, match="has a column 'bee' that no label names: a class without a sample"):
            read(table)
        samples = read(table, class_names=NAMES)
        assert samples.class_names == tuple(NAMES)
        assert np.unique(samples.labels).tolist() == [0, 2]

    def test_columns_of_text_may_be_left_out(self, frame, read):
        table = frame.assign(file="a.png")
        assert read(table, class_names=NAMES).table.left_out == ("file",)

    @pytest.mark.parametrize("name", ["id", "Pred", "predicted", "y true", "fold", "confidence"])
    def test_where_labels_are_indices_the_name_tells(self, frame, read, name):
        indices = frame.label.map(NAMES.index)
        with pytest.raises(
            FileError, match=rf"has a column '{name}' \(called like bookkeeping\) that looks like no class"
        ):
            read(frame.assign(label=indices, **{name: 0.5}))
        assert read(frame.assign(label=indices, **{name: 0.5}), class_names=NAMES).class_names == tuple(NAMES)

    @pytest.mark.parametrize("values", [np.arange(N), np.arange(N) % 3, np.arange(N) % 5], ids=["id", "class", "fold"])
    def test_where_labels_are_indices_whole_numbers_among_fractions_tell(self, frame, read, values):
        with pytest.raises(FileError, match=r"has a column 'extra' \(whole numbers among fractions"):
            read(frame.assign(label=frame.label.map(NAMES.index), extra=values))

    def test_logits_that_are_all_whole_or_always_the_same_are_logits(self, frame, read):
        indices = frame.label.map(NAMES.index)
        whole = frame.assign(**(10 * frame[NAMES]).round().astype(int), label=indices)
        assert read(whole).class_names == tuple(NAMES)
        assert read(frame.assign(cow=0, label=indices)).class_names == tuple(NAMES)  # the reference of a regression

    def test_a_class_called_like_bookkeeping_is_one_when_a_label_names_it(self, frame, read):
        table = frame.rename(columns={"cow": "target"}).replace({"label": {"cow": "target"}})
        assert read(table).class_names == ("ant", "bee", "target")


class TestNamesOrIndices:
    """Columns called 1, 2, 3: a label 1 may be the first of them, or the second."""

    @pytest.mark.parametrize(
        ("labels", "found"), [([0, 1, 2], [0, 1, 2]), ([1, 2, 3], [0, 1, 2]), ([3, 1, 1], [2, 0, 0])]
    )
    def test_one_reading_is_taken_where_the_other_cannot_be(self, frame, read, labels, found):
        table = frame.rename(columns=dict(zip(NAMES, "123", strict=True))).head(3).assign(label=labels)
        assert read(table).labels.tolist() == found

    @pytest.mark.parametrize("suffix", [".csv", ".parquet"])
    def test_two_readings_are_refused(self, frame, read, suffix):
        table = frame.rename(columns=dict(zip(NAMES, "123", strict=True))).assign(label=[1, 2] * 30)
        with pytest.raises(FileError) as refused:
            read(table, suffix)
        assert str(refused.value).endswith(
            "has labels such as '1' that may be names or indices: as a name it is column '1', as an index column '2'. "
            "Say --labels-from 0 if the first class is 0, or --labels-from 1 if the first class is 1."
        )

    def test_columns_called_by_their_own_places_leave_no_doubt(self, frame, read):
        table = frame.rename(columns=dict(zip(NAMES, "012", strict=True))).assign(label=[1, 2] * 30)
        samples = read(table)
        assert samples.labels.tolist() == [1, 2] * 30
        assert samples.class_names == ("0", "1", "2")  # the first has no sample, and is a class like the others
