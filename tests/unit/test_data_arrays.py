"""Images in one array: npz, idx, CIFAR, torch data sets; what they hold, and what is refused."""

import gzip
import io
import os
import pickle
import struct
import zipfile

import numpy as np
import pytest

from gfscore.errors import InvalidInputError
from gfscore.inputs.data import from_torch_dataset, load_data
from gfscore.inputs.preprocessing import Preprocessing

RNG = np.random.default_rng(0)
COLOUR = RNG.integers(0, 256, (6, 8, 9, 3), dtype=np.uint8)
LABELS = np.array([0, 1, 2, 2, 1, 1])
EVERYTHING = slice(None)


def refusal(spec, **options):
    """The one line that is said, without the path."""
    with pytest.raises(InvalidInputError) as refused:
        load_data(spec, **options)
    message = str(refused.value)
    assert "\n" not in message
    return message.partition(": ")[2]


class TestNpz:
    @pytest.fixture
    def path(self, tmp_path):
        return tmp_path / "data.npz"

    def test_stored_images_are_mapped(self, path):
        np.savez(path, images=COLOUR, labels=LABELS, class_names=["a", "b", "c"], sample_ids=list("uvwxyz"))
        data = load_data(path)
        assert isinstance(data.images(slice(1, 3)), np.memmap)
        np.testing.assert_array_equal(data.images(slice(1, 3)), COLOUR[1:3])
        np.testing.assert_array_equal(data.images(EVERYTHING), COLOUR)
        assert data.labels.dtype == np.int64
        assert data.labels.tolist() == LABELS.tolist()
        assert (data.source, data.layout, data.seed) == (str(path), "NHWC", None)
        assert (data.class_names, data.sample_ids) == (("a", "b", "c"), tuple("uvwxyz"))

    def test_compressed_images_are_the_same(self, path):
        np.savez_compressed(path, images=COLOUR, labels=LABELS)
        data = load_data(path)
        np.testing.assert_array_equal(data.images(EVERYTHING), COLOUR)
        assert (data.class_names, data.sample_ids) == (None, None)

    def test_fortran_order_is_mapped_right(self, path):
        np.savez(path, images=np.asfortranarray(COLOUR), labels=LABELS)
        np.testing.assert_array_equal(load_data(path).images(slice(2, 4)), COLOUR[2:4])

    def test_studiogan_samples_work_as_they_are(self, path):
        """Written as its save_images_npz does: x (N, 3, H, W) uint8 and y, by np.savez.

        Source: POSTECH-CVLab/PyTorch-StudioGAN, src/utils/misc.py.
        """
        generated = COLOUR.transpose(0, 3, 1, 2)
        np.savez(path, x=generated, y=LABELS)
        data = load_data(path)
        assert data.layout == "NCHW"
        np.testing.assert_array_equal(data.images(EVERYTHING), generated)
        assert data.labels.tolist() == LABELS.tolist()

    def test_grey_images_get_a_channel(self, path):
        np.savez(path, images=COLOUR[..., 0], labels=LABELS)
        assert load_data(path).images(EVERYTHING).shape == (6, 8, 9, 1)
        assert load_data(path, preprocessing=Preprocessing(layout="NCHW")).images(EVERYTHING).shape == (6, 1, 8, 9)

    def test_the_layout_is_asked_for_where_the_shape_does_not_tell(self, path):
        np.savez(path, images=np.zeros((6, 3, 5, 3), np.uint8), labels=LABELS)
        assert refusal(path) == (
            "images have shape (6, 3, 5, 3), which does not tell where the channels are. "
            "Give --layout NHWC or --layout NCHW (Preprocessing(layout=...))."
        )
        assert load_data(path, preprocessing=Preprocessing(layout="NCHW")).layout == "NCHW"

    def test_the_fingerprint_is_the_hash_of_the_file(self, path):
        np.savez(path, images=COLOUR, labels=LABELS)
        before = load_data(path).fingerprint
        assert before == load_data(path).fingerprint
        np.savez(path, images=COLOUR, labels=LABELS[::-1])
        assert load_data(path).fingerprint != before

    @pytest.mark.parametrize(
        ("arrays", "message"),
        [
            (
                {"pictures": COLOUR, "labels": LABELS},
                (
                    "has no 'images' (or 'x'); it holds 'pictures', 'labels'. "
                    "Name the array of images (N, H, W, C) 'images'."
                ),
            ),
            (
                {"images": COLOUR},
                "has no 'labels' (or 'y'); it holds 'images'. Name the true classes 'labels'.",
            ),
            (
                {"images": COLOUR, "labels": LABELS[:5]},
                "has 6 images but 5 labels. Save one label per image.",
            ),
            (
                {"images": COLOUR, "labels": np.eye(3)[LABELS]},
                (
                    "labels have shape (6, 3); they must be one class index per image. "
                    "If they are one-hot, save labels.argmax(axis=1)."
                ),
            ),
            (
                {"images": COLOUR, "labels": LABELS - 1},
                "label -1 in row 0 is negative: no class. Give data with known classes.",
            ),
            (
                {"images": COLOUR, "labels": LABELS / 2},
                "labels have type float64; they must be class indices. Save them as int64.",
            ),
            (
                {"images": COLOUR.reshape(6, -1), "labels": LABELS},
                "images have shape (6, 216); it must be (N, H, W), (N, H, W, C) or (N, C, H, W). Reshape them.",
            ),
            (
                {"images": COLOUR[:0], "labels": LABELS[:0]},
                "holds no image. Give at least one of each of two classes.",
            ),
            (
                {"images": COLOUR.astype(str), "labels": LABELS},
                "array 'images' has type <U3. Save images as uint8 or float32.",
            ),
            (
                {"images": COLOUR, "labels": LABELS, "class_names": ["a", "b"]},
                "there are 2 class names but a label 2. Give a name per class.",
            ),
        ],
    )
    def test_refusals(self, path, arrays, message):
        np.savez(path, **arrays)
        assert refusal(path) == message

    def test_pickled_arrays_are_not_loaded(self, path):
        np.savez(path, images=np.array([{}, {}], dtype=object), labels=[0, 1])
        assert refusal(path).startswith("array 'images' holds Python objects, which only pickle can load")

    @pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
    def test_a_header_that_lies_is_refused(self, path, compression):
        header = io.BytesIO()
        np.lib.format.write_array_header_1_0(
            header, {"descr": "|u1", "fortran_order": False, "shape": (10**6, 32, 32, 3)}
        )
        with zipfile.ZipFile(path, "w", compression) as archive:
            archive.writestr("images.npy", header.getvalue() + b"few")
        assert refusal(path) == (
            "array 'images' declares shape (1000000, 32, 32, 3) of uint8 (3,072,000,000 bytes) but holds 3 bytes. "
            "The file is damaged: save it again."
        )

    def test_a_zip_bomb_is_refused_before_it_is_unpacked(self, path, monkeypatch):
        np.savez_compressed(path, images=np.zeros((40, 1000, 1000, 1), np.uint8), labels=np.zeros(40, int))
        assert path.stat().st_size < 100_000
        monkeypatch.setattr("os.sysconf", lambda name: 1000)  # as if only a megabyte were free
        assert refusal(path) == (
            "declares array 'images' of 0.0 GB, more than the 0.0 GB of free memory. "
            "Save it with numpy.savez, not savez_compressed: then it is read in pieces."
        )

    def test_an_archive_cut_short_is_refused(self, path):
        np.savez(path, images=COLOUR, labels=LABELS)
        path.write_bytes(path.read_bytes()[:-50])
        assert refusal(path) == "is not an npz archive, or is cut short. Save it again with numpy.savez."

    def test_a_split_is_refused_where_there_is_none(self, path):
        np.savez(path, images=COLOUR, labels=LABELS)
        assert refusal(path, split="test").endswith("has no splits. Leave it out.")

    def test_names_given_take_the_place_of_those_in_the_file(self, path):
        np.savez(path, images=COLOUR, labels=LABELS, class_names=["a", "b", "c"])
        assert load_data(path, class_names=["x", "y", "z"]).class_names == ("x", "y", "z")


class TestIdx:
    def write(self, path, array, *, shape=None, compressed=False):
        shape = array.shape if shape is None else shape
        content = (
            bytes((0, 0, 8, len(shape))) + struct.pack(f">{len(shape)}I", *shape) + array.astype(np.uint8).tobytes()
        )
        (path.with_name(path.name + ".gz") if compressed else path).write_bytes(
            gzip.compress(content) if compressed else content
        )

    @pytest.mark.parametrize("compressed", [False, True])
    @pytest.mark.parametrize("folder", [".", "MNIST/raw", "FashionMNIST/raw"])
    def test_a_split(self, tmp_path, compressed, folder):
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
        for prefix, n in (("t10k", 4), ("train", 6)):
            self.write(tmp_path / folder / f"{prefix}-images-idx3-ubyte", COLOUR[:n, ..., 0], compressed=compressed)
            self.write(tmp_path / folder / f"{prefix}-labels-idx1-ubyte", LABELS[:n], compressed=compressed)
        data = load_data(tmp_path)
        np.testing.assert_array_equal(data.images(slice(1, 3)), COLOUR[1:3, ..., :1])
        assert data.labels.tolist() == LABELS[:4].tolist()
        assert len(load_data(tmp_path, split="train").labels) == 6
        assert load_data(tmp_path, split="train").fingerprint != data.fingerprint
        assert refusal(tmp_path, split="dev") == "split is 'dev'; it must be one of 'test', 'train'."

    @pytest.mark.parametrize(
        ("shape", "held"), [((5, 8, 9), "360 bytes) but holds 288"), ((3, 8, 9), "216 bytes) but holds ")]
    )
    @pytest.mark.parametrize("compressed", [False, True])
    def test_a_header_that_lies_is_refused(self, tmp_path, shape, held, compressed):
        self.write(tmp_path / "t10k-images-idx3-ubyte", COLOUR[:4, ..., 0], shape=shape, compressed=compressed)
        self.write(tmp_path / "t10k-labels-idx1-ubyte", LABELS[:4])
        message = refusal(tmp_path)
        assert message.startswith(f"declares shape {shape} ({held}")
        assert message.endswith(". Download it again.")

    def test_a_gzip_cut_short_is_refused(self, tmp_path):
        self.write(tmp_path / "t10k-images-idx3-ubyte", COLOUR[..., 0], compressed=True)
        self.write(tmp_path / "t10k-labels-idx1-ubyte", LABELS)
        path = tmp_path / "t10k-images-idx3-ubyte.gz"
        path.write_bytes(path.read_bytes()[:100])
        assert refusal(tmp_path).startswith("cannot be read (Compressed file ended before the end-of-stream marker")

    def test_a_gigantic_declaration_is_refused_before_it_is_read(self, tmp_path):
        self.write(tmp_path / "t10k-images-idx3-ubyte", np.zeros(3), shape=(2**31, 2**10, 2**10), compressed=True)
        self.write(tmp_path / "t10k-labels-idx1-ubyte", LABELS)
        assert refusal(tmp_path).startswith("declares an array of 2,251,799.8 GB, more than the")

    def test_labels_that_are_missing_are_named(self, tmp_path):
        self.write(tmp_path / "t10k-images-idx3-ubyte", COLOUR[..., 0])
        assert refusal(tmp_path) == (
            "has no t10k-labels-idx1-ubyte (or t10k-labels-idx1-ubyte.gz) for split 'test'. Put it beside the others."
        )

    def test_what_is_no_idx_file_is_refused(self, tmp_path):
        (tmp_path / "t10k-images-idx3-ubyte").write_bytes(b"\x89PNG and so on and so on")
        self.write(tmp_path / "t10k-labels-idx1-ubyte", LABELS)
        assert refusal(tmp_path) == "is no idx file of bytes with 3 axes, or is cut short. Download it again."


PIXELS = RNG.integers(0, 256, (6, 3072), dtype=np.uint8)


def python_2_batch(pixels, labels):
    """A batch as Python 2 and its NumPy pickled the files that are distributed: protocol 2, byte strings throughout."""

    def string(value):
        return b"T" + struct.pack("<i", len(value)) + value

    def number(value):
        return b"J" + struct.pack("<i", value)

    array = b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(" + number(0) + b"t" + string(b"b") + b"tR"
    dtype = b"cnumpy\ndtype\n(" + string(b"u1") + number(0) + number(1) + b"tR("
    dtype += number(3) + string(b"|") + b"NNN" + number(-1) + number(-1) + number(0) + b"tb"
    state = (
        b"("
        + number(1)
        + b"("
        + number(len(pixels))
        + number(3072)
        + b"t"
        + dtype
        + b"\x89"
        + string(pixels.tobytes())
        + b"tb"
    )
    listed = b"](" + b"".join(number(label) for label in labels) + b"e"
    return b"\x80\x02}(" + string(b"data") + array + state + string(b"labels") + listed + b"u."


class TestCifar:
    @pytest.fixture
    def ten(self, tmp_path):
        folder = tmp_path / "cifar-10-batches-py"
        folder.mkdir()
        (folder / "batches.meta").write_bytes(pickle.dumps({"label_names": ["ant", "bee", "cow"]}, 2))
        for name in ("test_batch", *(f"data_batch_{number}" for number in range(1, 6))):
            (folder / name).write_bytes(pickle.dumps({"data": PIXELS, "labels": LABELS.tolist()}, 4))
        return folder

    def test_python_batches(self, ten):
        data = load_data(ten)
        assert data.layout == "NCHW"
        np.testing.assert_array_equal(data.images(slice(2, 5)), PIXELS[2:5].reshape(3, 3, 32, 32))
        assert data.labels.tolist() == LABELS.tolist()
        assert data.class_names == ("ant", "bee", "cow")
        train = load_data(ten.parent, split="train")
        assert len(train.labels) == 30
        np.testing.assert_array_equal(train.images(slice(28, 30)), PIXELS[4:].reshape(2, 3, 32, 32))

    def test_batches_pickled_by_python_2(self, ten):
        (ten / "test_batch").write_bytes(python_2_batch(PIXELS, LABELS))
        data = load_data(ten)
        np.testing.assert_array_equal(data.images(EVERYTHING), PIXELS.reshape(6, 3, 32, 32))
        assert data.labels.tolist() == LABELS.tolist()

    def test_file_names_become_sample_ids(self, ten):
        batch = {b"data": PIXELS, b"labels": LABELS.tolist(), b"filenames": [b"a", b"b", b"c", b"d", b"e", b"f"]}
        (ten / "test_batch").write_bytes(pickle.dumps(batch, 4))
        assert load_data(ten).sample_ids == tuple("abcdef")

    def test_hundred_has_fine_labels(self, tmp_path):
        folder = tmp_path / "cifar-100-python"
        folder.mkdir()
        names = {"fine_label_names": ["ant", "bee", "cow"], "coarse_label_names": ["insects", "cattle"]}
        (folder / "meta").write_bytes(pickle.dumps(names, 4))
        batch = {"data": PIXELS, "fine_labels": LABELS.tolist(), "coarse_labels": [0] * 6}
        (folder / "test").write_bytes(pickle.dumps(batch, 4))
        data = load_data(folder)
        assert data.labels.tolist() == LABELS.tolist()
        assert data.class_names == ("ant", "bee", "cow")

    @pytest.mark.parametrize(
        ("test", "names", "prefix"),
        [("test_batch.bin", "batches.meta.txt", 0), ("test.bin", "fine_label_names.txt", 1)],
    )
    def test_binary_files_are_mapped(self, tmp_path, test, names, prefix):
        coarse = np.full((6, prefix), 9, np.uint8)
        records = np.concatenate([coarse, LABELS[:, None].astype(np.uint8), PIXELS], axis=1)
        (tmp_path / test).write_bytes(records.tobytes())
        (tmp_path / names).write_text("ant\nbee\ncow\n\n")
        data = load_data(tmp_path)
        assert isinstance(data.images(slice(2, 5)), np.memmap)
        np.testing.assert_array_equal(data.images(slice(2, 5)), PIXELS[2:5].reshape(3, 3, 32, 32))
        assert data.labels.tolist() == LABELS.tolist()
        assert data.class_names == ("ant", "bee", "cow")
        (tmp_path / test).write_bytes(records.tobytes()[:-1])
        assert refusal(tmp_path).endswith("(labels and an image). Download it again.")

    @pytest.mark.parametrize("protocol", [0, 2, 4])
    def test_a_pickle_that_calls_anything_is_refused_and_not_run(self, ten, protocol):
        class Attack:
            def __reduce__(self):
                return os.mkdir, (str(ten / "was-here"),)

        (ten / "test_batch").write_bytes(pickle.dumps({"data": Attack(), "labels": [0]}, protocol))
        assert refusal(ten) == (
            "calls posix.mkdir when it is unpickled, which no CIFAR file does and which could run code. "
            "It was not run. Download the file again from its source."
        )
        assert not (ten / "was-here").exists()

    @pytest.mark.parametrize("name", ["eval", "getattr", "__import__"])
    def test_builtins_are_refused(self, ten, name):
        (ten / "batches.meta").write_bytes(b"cbuiltins\n" + name.encode() + b"\n.")
        assert refusal(ten).startswith(f"calls builtins.{name} when it is unpickled")

    @pytest.mark.parametrize(
        ("batch", "message"),
        [
            ([1], "holds a list, not a dictionary. Download it again."),
            ({"data": PIXELS}, "is no CIFAR batch: it lacks 'data' or 'labels'. Download it again."),
            (
                {"data": PIXELS[:, :5], "labels": [0] * 6},
                "'data' is no array of bytes of shape (N, 3072). Download it again.",
            ),
            (
                {"data": PIXELS.astype(float), "labels": [0] * 6},
                "'data' is no array of bytes of shape (N, 3072). Download it again.",
            ),
            (
                {"data": PIXELS, "labels": [0, 1]},
                "has 6 images but no such list of class indices. Download it again.",
            ),
            (
                {"data": PIXELS, "labels": [7] * 6},
                "there are 3 class names but a label 7. Give a name per class.",
            ),
        ],
    )
    def test_refusals(self, ten, batch, message):
        (ten / "test_batch").write_bytes(pickle.dumps(batch, 4))
        assert refusal(ten) == message

    def test_a_pickle_cut_short_is_refused(self, ten):
        content = (ten / "test_batch").read_bytes()
        (ten / "test_batch").write_bytes(content[: len(content) // 2])
        assert refusal(ten).startswith("is no CIFAR file, or is damaged (")

    def test_a_batch_that_is_missing_is_named(self, ten):
        (ten / "data_batch_3").unlink()
        assert refusal(ten, split="train") == "has no data_batch_3. Unpack the whole archive."


class TestTorchDataset:
    class Pairs:
        classes = ("ant", "bee", "cow")

        def __init__(self, images=COLOUR, labels=LABELS):
            self.items = list(zip(images, labels, strict=True))

        def __len__(self):
            return len(self.items)

        def __getitem__(self, index):
            return self.items[index]

    def test_items_are_stacked_in_order(self):
        data = from_torch_dataset(self.Pairs())
        np.testing.assert_array_equal(data.images(slice(2, 5)), COLOUR[2:5])
        assert (data.source, data.layout, data.class_names) == ("Pairs", "NHWC", ("ant", "bee", "cow"))
        assert data.labels.tolist() == LABELS.tolist()
        assert data.fingerprint == from_torch_dataset(self.Pairs()).fingerprint
        assert data.fingerprint != from_torch_dataset(self.Pairs(images=COLOUR[::-1])).fingerprint
        assert data.fingerprint != from_torch_dataset(self.Pairs(labels=LABELS[::-1])).fingerprint

    def test_tensors(self):
        torch = pytest.importorskip("torch")
        images = torch.from_numpy(COLOUR.transpose(0, 3, 1, 2).copy())
        data = from_torch_dataset(torch.utils.data.TensorDataset(images, torch.from_numpy(LABELS)), source="mine")
        assert (data.source, data.layout) == ("mine", "NCHW")
        np.testing.assert_array_equal(data.images(EVERYTHING), images.numpy())
        assert data.labels.tolist() == LABELS.tolist()

    def test_targets_save_the_reading_of_every_item(self):
        asked = set()

        class WithTargets(self.Pairs):
            targets = LABELS

            def __getitem__(self, index):
                asked.add(index)
                return super().__getitem__(index)

        assert from_torch_dataset(WithTargets()).labels.tolist() == LABELS.tolist()
        assert asked == {0}

    def test_random_transforms_are_refused(self):
        class Random(self.Pairs):
            def __getitem__(self, index):
                return RNG.random((3, 8, 8)), 0

        with pytest.raises(InvalidInputError, match=r"^Random: gives another image each time it is asked for row 0\."):
            from_torch_dataset(Random())

    def test_images_of_several_sizes_are_refused(self):
        data = from_torch_dataset(self.Pairs(images=[*COLOUR[:5], COLOUR[5, :4]]))
        with pytest.raises(InvalidInputError, match=r"^Pairs gives images of shape \(4, 9, 3\) and \(8, 9, 3\)\."):
            data.images(EVERYTHING)


class TestViews:
    @pytest.fixture
    def path(self, tmp_path):
        labels = np.arange(60) % 3
        images = np.arange(60, dtype=np.uint8)[:, None, None, None].repeat(4, 1).repeat(4, 2)
        np.savez(tmp_path / "data.npz", images=images, labels=labels, sample_ids=[f"id{row}" for row in range(60)])
        return tmp_path / "data.npz"

    def test_a_random_part_of_each_class(self, path):
        data = load_data(path, n_per_class=5, seed=3)
        assert np.bincount(data.labels).tolist() == [5, 5, 5]
        rows = data.images(EVERYTHING)[:, 0, 0, 0]
        np.testing.assert_array_equal(rows % 3, data.labels)
        assert data.sample_ids == tuple(f"id{row}" for row in rows)
        assert rows.tolist() == sorted(rows)
        assert rows.tolist() != list(range(15)), "a prefix is no random sample"
        np.testing.assert_array_equal(data.images(slice(4, 11))[:, 0, 0, 0], rows[4:11])
        assert data.source == f"{path} (at most 5 per class, seed 3)"

    def test_the_seed_decides(self, path):
        chosen = [load_data(path, n_per_class=5, seed=seed) for seed in (3, 3, 4)]
        assert chosen[0].sample_ids == chosen[1].sample_ids != chosen[2].sample_ids
        assert chosen[0].fingerprint == chosen[1].fingerprint != chosen[2].fingerprint
        assert chosen[0].fingerprint != load_data(path).fingerprint

    def test_a_small_class_is_taken_whole(self, path):
        assert len(load_data(path, n_per_class=50).labels) == 60

    def test_arrays_are_resized_too(self, path):
        data = load_data(path, preprocessing=Preprocessing(resize=8, crop=6), n_per_class=5)
        images = data.images(EVERYTHING)
        assert images.shape == (15, 6, 6, 1)
        np.testing.assert_array_equal(images, images[:, :1, :1].repeat(6, 1).repeat(6, 2))

    def test_channels_first_are_resized_and_made_grey(self, tmp_path):
        np.savez(tmp_path / "x.npz", x=np.full((2, 3, 8, 8), 77, np.uint8), y=[0, 1])
        data = load_data(tmp_path / "x.npz", preprocessing=Preprocessing(resize=4, grey=True))
        assert (data.layout, data.images(EVERYTHING).shape) == ("NHWC", (2, 4, 4, 1))
        assert (data.images(EVERYTHING) == 77).all()

    def test_floats_are_not_resized(self, tmp_path):
        np.savez(tmp_path / "x.npz", images=np.zeros((2, 8, 8, 3), np.float32), labels=[0, 1])
        assert "need uint8 images" in refusal(tmp_path / "x.npz", preprocessing=Preprocessing(resize=4))

    @pytest.mark.parametrize("options", [{"n_per_class": 0}, {"seed": -1}, {"n_classes": 3}])
    def test_options_outside_their_domain(self, path, options):
        with pytest.raises(InvalidInputError):
            load_data(path, **options)


def test_what_does_not_exist_or_is_unknown_is_refused(tmp_path):
    forms = "an .npz or .parquet file, a folder of images, a CIFAR or MNIST directory, generator:..., or zoo:digits."
    assert refusal(tmp_path / "no.npz") == "does not exist. Check the path."
    assert refusal(tmp_path / "no") == f"does not exist. Check the path; data are {forms}"
    (tmp_path / "data.h5").write_bytes(b"x")
    assert refusal(tmp_path / "data.h5") == f"has the ending '.h5'. Data are {forms}"
