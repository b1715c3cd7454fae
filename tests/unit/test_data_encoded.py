"""Images that are decoded as they are read: folders and parquet; what they hold, and what is refused."""

import io
import json
import os
import struct
import sys
import zlib

import numpy as np
import pytest
from PIL import Image

from gfscore.errors import InvalidInputError
from gfscore.inputs.data import load_data
from gfscore.inputs.preprocessing import Preprocessing

PIXELS = np.random.default_rng(0).integers(0, 256, (6, 8, 9, 3), dtype=np.uint8)
EVERYTHING = slice(None)


def png(pixels, **options):
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG", **options)
    return file.getvalue()


def png_that_claims(width, height):
    """A few bytes that announce a large image."""
    chunks = [
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)),
        (b"IDAT", zlib.compress(b"")),
        (b"IEND", b""),
    ]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    )


def read_all(spec, **options):
    return load_data(spec, **options).images(EVERYTHING)


def refusal(spec, read=False, **options):
    """The one line that is said, without the path."""
    with pytest.raises(InvalidInputError) as refused:
        (read_all if read else load_data)(spec, **options)
    message = str(refused.value)
    assert "\n" not in message
    return message.partition(": ")[2]


class TestFolder:
    @pytest.fixture
    def folder(self, tmp_path):
        """Six images of three classes, one of them in a folder below its class."""
        root = tmp_path / "images"
        for row, name in enumerate(["ant/2.png", "ant/1.PNG", "bee/deep/3.png", "cow/4.bmp", "cow/5.png", "cow/6.png"]):
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(PIXELS[row]).save(root / name)
        (root / "ant" / "notes.txt").write_text("ignored")
        (root / "cow" / ".hidden.png").write_text("ignored")
        (root / ".cache").mkdir()
        (root / "readme.txt").write_text("ignored")
        return root

    def test_images_come_in_the_order_of_classes_and_names(self, folder):
        data = load_data(folder)
        assert data.labels.tolist() == [0, 0, 1, 2, 2, 2]
        assert data.class_names == ("ant", "bee", "cow")
        assert data.sample_ids == ("ant/1.PNG", "ant/2.png", "bee/deep/3.png", "cow/4.bmp", "cow/5.png", "cow/6.png")
        assert data.layout == "NHWC"
        np.testing.assert_array_equal(data.images(EVERYTHING), PIXELS[[1, 0, 2, 3, 4, 5]])
        np.testing.assert_array_equal(data.images(slice(2, 4)), PIXELS[2:4])

    def test_the_fingerprint_follows_content_and_names(self, folder):
        seen = {load_data(folder).fingerprint, load_data(folder, class_names=["cow", "bee", "ant"]).fingerprint}
        (folder / "ant" / "2.png").rename(folder / "ant" / "3.png")
        seen.add(load_data(folder).fingerprint)
        Image.fromarray(PIXELS[5]).save(folder / "ant" / "3.png")
        seen.add(load_data(folder).fingerprint)
        assert len(seen) == 4
        assert load_data(folder).fingerprint in seen

    def test_class_names_that_are_folders_give_their_order_and_may_name_absent_classes(self, folder):
        data = load_data(folder, class_names=["cow", "dog", "ant", "bee"])
        assert data.labels.tolist() == [2, 2, 3, 0, 0, 0]
        assert data.class_names == ("cow", "dog", "ant", "bee")

    def test_other_class_names_take_the_place_of_the_folders(self, folder):
        data = load_data(folder, class_names=["Ameise", "Biene", "Kuh"])
        assert data.labels.tolist() == [0, 0, 1, 2, 2, 2]
        assert data.class_names == ("Ameise", "Biene", "Kuh")
        assert refusal(folder, class_names=["cow", "bee", "gnu"]).startswith("class name 'cow' is given for class 0, ")
        assert refusal(folder, class_names=["Ameise"]) == (
            "there are 1 class names for 3 folders. Give one per folder."
        )

    def test_an_empty_folder_is_a_class_without_images(self, folder):
        (folder / "bat").mkdir()
        data = load_data(folder)
        assert data.class_names == ("ant", "bat", "bee", "cow")
        assert data.labels.tolist() == [0, 0, 2, 3, 3, 3]

    def test_images_of_several_sizes_need_a_shape(self, folder):
        Image.fromarray(PIXELS[0, :4]).save(folder / "cow" / "5.png")
        assert refusal(folder, read=True) == (
            "is 4 x 9 pixels where the first image is 8 x 9. "
            "Give --resize and --crop, such as --resize 256 --crop 224, so that all have one size."
        )
        data = load_data(folder, preprocessing=Preprocessing(resize=4, crop=4))
        assert data.images(EVERYTHING).shape == (6, 4, 4, 3)

    def test_grey_and_palette_images_become_colour_and_colour_grey(self, folder):
        Image.fromarray(PIXELS[0, ..., 0]).save(folder / "ant" / "2.png")
        Image.fromarray(PIXELS[1]).quantize(4).save(folder / "ant" / "1.PNG", transparency=b"\0\xff")
        images = load_data(folder).images(EVERYTHING)
        np.testing.assert_array_equal(images[1], PIXELS[0, ..., :1].repeat(3, axis=2))
        grey = load_data(folder, preprocessing=Preprocessing(grey=True)).images(EVERYTHING)
        np.testing.assert_array_equal(grey[1], PIXELS[0, ..., :1])

    def test_a_split_is_a_subfolder(self, folder, tmp_path):
        (tmp_path / "whole").mkdir()
        folder.rename(tmp_path / "whole" / "val")
        assert len(load_data(tmp_path / "whole", split="val").labels) == 6
        assert refusal(tmp_path / "whole") == "holds the splits 'val', not classes. Name one of them: --split val."
        assert refusal(tmp_path / "whole", split="..").startswith("split is '..', but there is no such folder.")

    def test_folders_named_by_numbers_are_refused_where_their_order_is_not_sure(self, tmp_path):
        for name in range(11):
            (tmp_path / str(name)).mkdir()
            (tmp_path / str(name) / "image.png").write_bytes(png(PIXELS[0]))
        assert refusal(tmp_path) == (
            "has folders named by numbers, and 0, 1, 10, ... is their order as text only. "
            "Give --class-names with the folders in the order of the model's outputs."
        )
        data = load_data(tmp_path, class_names=[str(name) for name in range(11)])
        assert sorted(data.labels.tolist()) == list(range(11))
        assert [data.sample_ids[row] for row in np.argsort(data.labels)][2] == "2/image.png"

    def test_links_may_not_lead_out(self, folder, tmp_path):
        (tmp_path / "secret.png").write_bytes(png(PIXELS[0]))
        link = folder / "ant" / "link.png"
        link.symlink_to(folder / "cow" / "5.png")
        assert len(load_data(folder).labels) == 7
        link.unlink()
        link.symlink_to(tmp_path / "secret.png")
        assert refusal(folder) == "ant/link.png is a link that leads out of the folder. Copy the file."
        link.unlink()
        link.symlink_to(folder / "nothing.png")
        assert refusal(folder) == "ant/link.png is no file. Remove it."

    def test_links_to_folders_are_refused(self, folder):
        (folder / "bee" / "loop").symlink_to(folder)
        assert refusal(folder) == "bee/loop is a link to a folder. Copy it."
        (folder / "bee" / "loop").unlink()
        (folder / "dog").symlink_to(folder / "cow")
        assert refusal(folder) == "dog is a link to a folder. Copy it."

    @pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such names")
    def test_a_name_that_is_no_text_is_refused(self, folder):
        (folder / "ant" / os.fsdecode(b"caf\xe9.png")).write_bytes(b"")
        assert refusal(folder) == "ant/caf\udce9.png has a name that is no UTF-8 text. Rename it."

    def test_a_pipe_is_not_waited_for(self, folder):
        os.mkfifo(folder / "ant" / "pipe.png")
        assert refusal(folder) == "ant/pipe.png is no file. Remove it."

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (
                b"no image",
                "is no image in a known format (PNG, JPEG, BMP, WEBP, TIFF, PPM, GIF). Save it as PNG or JPEG.",
            ),
            (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 8\n", "is no image in a known format (PNG, JPEG, BMP,"),
            (png(PIXELS[0])[:200], "is a damaged image ("),
            (png_that_claims(12_000, 12_000), "has more than 89,478,485 pixels: a decompression bomb, or no image"),
            (png_that_claims(200_000, 200_000), "has more than 89,478,485 pixels: a decompression bomb, or no image"),
            (png(np.zeros((8, 9), np.uint16)), "has more than 8 bits a channel (mode I;16). Save it with 8."),
        ],
        ids=["text", "eps", "cut", "bomb", "larger bomb", "16 bits"],
    )
    def test_an_image_that_is_none_is_named(self, folder, content, message):
        path = folder / "cow" / "5.png"
        path.write_bytes(content)
        with pytest.raises(InvalidInputError) as refused:
            load_data(folder).images(slice(4, 5))
        assert str(refused.value).startswith(f"{path}: {message}")

    def test_folders_without_images_are_refused(self, tmp_path):
        assert refusal(tmp_path) == (
            "holds no folders. Give an .npz file, or a folder with one subfolder of images per class."
        )
        (tmp_path / "ant").mkdir()
        assert refusal(tmp_path).startswith("holds no image in its 1 folders. Images end in .png, ")
        (tmp_path / "ant" / "image.heic").write_text("")
        assert refusal(tmp_path).startswith("'ant' holds files but no image. Images end in .png, ")


class TestParquet:
    @pytest.fixture
    def write(self, tmp_path):
        pyarrow = pytest.importorskip("pyarrow")
        parquet = pytest.importorskip("pyarrow.parquet")

        def write(name="test.parquet", *, metadata=None, **columns):
            images = [{"bytes": png(pixels), "path": f"{row}.png"} for row, pixels in enumerate(PIXELS)]
            table = pyarrow.table({"image": images, "label": [0, 1, 2, 2, 1, 0]} | columns)
            if metadata is not None:
                table = table.replace_schema_metadata(metadata)
            parquet.write_table(table, tmp_path / name, row_group_size=2)
            return tmp_path / name

        return write

    def test_the_layout_of_the_hub(self, write):
        names = {"info": {"features": {"label": {"names": ["ant", "bee", "cow"], "_type": "ClassLabel"}}}}
        data = load_data(write(metadata={"huggingface": json.dumps(names)}))
        np.testing.assert_array_equal(data.images(EVERYTHING), PIXELS)
        np.testing.assert_array_equal(data.images(slice(3, 5)), PIXELS[3:5])
        assert data.labels.tolist() == [0, 1, 2, 2, 1, 0]
        assert data.class_names == ("ant", "bee", "cow")
        assert data.sample_ids == tuple(f"{row}.png" for row in range(6))

    def test_plain_bytes_and_labels_that_are_names(self, write):
        data = load_data(write(image=[png(pixels) for pixels in PIXELS], label=["b", "a", "c", "c", "a", "b"]))
        np.testing.assert_array_equal(data.images(slice(5, 6)), PIXELS[5:])
        assert data.labels.tolist() == [1, 0, 2, 2, 0, 1]
        assert data.class_names == ("a", "b", "c")
        assert data.sample_ids is None

    def test_class_names_that_are_labels_give_their_order_and_may_name_absent_classes(self, write):
        path = write(label=["c", "a", "b", "b", "a", "c"])
        data = load_data(path, class_names=["c", "x", "b", "a"])
        assert data.labels.tolist() == [0, 3, 2, 2, 3, 0]
        assert data.class_names == ("c", "x", "b", "a")
        assert data.fingerprint != load_data(path).fingerprint, "the labels are others"
        assert data.fingerprint == load_data(path, class_names=["c", "y", "b", "a"]).fingerprint

    def test_class_names_order_labels_that_the_hub_names_too(self, write):
        names = {"info": {"features": {"label": {"names": ["a", "b", "c"]}}}}
        path = write(label=["c", "a", "b", "b", "a", "c"], metadata={"huggingface": json.dumps(names)})
        assert load_data(path, class_names=["c", "b", "a"]).labels.tolist() == [0, 2, 1, 1, 2, 0]
        indices = write("indices.parquet", metadata={"huggingface": json.dumps(names)})
        assert load_data(indices, class_names=["A", "B", "C"]).class_names == ("A", "B", "C")
        assert refusal(indices, class_names=["c", "b", "a"]) == (
            "class name 'c' is given for class 0, which is called 'a' there: 'c' is class 2. "
            "Give the names in their order, or leave --class-names out."
        )

    def test_other_class_names_take_the_place_of_the_labels(self, write):
        path = write(label=["c", "a", "b", "b", "a", "c"])
        data = load_data(path, class_names=["Ameise", "Biene", "Kuh"])
        assert (data.labels.tolist(), data.class_names) == ([2, 0, 1, 1, 0, 2], ("Ameise", "Biene", "Kuh"))
        assert refusal(path, class_names=["Ameise"]) == "there are 1 class names for 3 labels. Give one per label."

    def test_labels_that_are_numbers_as_text_are_refused_where_their_order_is_not_that_of_numbers(self, write):
        path = write(label=["5", "14", "9", "9", "14", "5"])
        assert refusal(path) == (
            "has labels named by numbers, and 14, 5, 9, ... is their order as text only. "
            "Give --class-names with the labels in the order of the model's outputs."
        )
        assert load_data(path, class_names=["5", "9", "14"]).labels.tolist() == [0, 2, 1, 1, 2, 0]

    def test_hidden_files_are_passed_over(self, write, tmp_path):
        write("a.parquet")
        write("._a.parquet")
        assert len(load_data(tmp_path).labels) == 6

    def test_one_row_group_is_held_at_a_time(self, write):
        data = load_data(write())
        for row in range(6):
            data.images(slice(row, row + 1))
            assert list(data.read.encoded.held) == [row // 2]

    def test_shards_follow_each_other(self, write, tmp_path):
        write("test-00000-of-00002.parquet")
        write("test-00001-of-00002.parquet")
        data = load_data(tmp_path)
        assert len(data.labels) == 12
        np.testing.assert_array_equal(data.images(slice(5, 8)), PIXELS[[5, 0, 1]])
        assert data.sample_ids is None, "the paths repeat"
        write("train-00000-of-00001.parquet")
        assert refusal(tmp_path) == "holds files of 'test', 'train'. Name one: --split test."
        assert len(load_data(tmp_path, split="train").labels) == 6
        assert refusal(tmp_path, split="dev") == "split is 'dev'; there are files of 'test', 'train'."

    def test_images_are_shaped(self, write):
        assert load_data(write(), preprocessing=Preprocessing(crop=4)).images(EVERYTHING).shape == (6, 4, 4, 3)

    @pytest.mark.parametrize(
        ("columns", "message"),
        [
            ({"image": [1] * 6}, "column 'image' is int64. It must hold encoded images: bytes, or {bytes, path}."),
            ({"label": [0, 1, None, 1, 1, 0]}, "row 2 has no label. Give it one, or drop the row."),
            ({"label": [-1] * 6}, "label -1 in row 0 is negative: no class. Give data with known classes."),
            ({"label": [0.5] * 6}, "labels have type float64; they must be class indices. Save them as int64."),
            (
                {"image": [None, *[{"bytes": b"x", "path": "a"}] * 5]},
                "has no image bytes. Embed the images in the file,",
            ),
            ({"image": [{"bytes": None, "path": "a"}] * 6}, "has no image bytes. Embed the images in the file,"),
            ({"image": [png(PIXELS[0]), None, *[b""] * 4]}, "has no image bytes. Embed the images in the file,"),
            ({"image": [b"no image"] * 6}, "is no image in a known format"),
        ],
    )
    def test_refusals(self, write, columns, message):
        assert refusal(write(**columns), read=True).startswith(message)

    def test_a_null_image_is_named_by_its_row_in_the_file(self, write):
        path = write(image=[*[png(PIXELS[0])] * 3, None, *[png(PIXELS[0])] * 2])
        with pytest.raises(InvalidInputError) as refused:
            load_data(path).images(slice(2, 5))
        assert str(refused.value).startswith(f"{path}, row 3: has no image bytes.")

    def test_columns_are_asked_for_by_name(self, tmp_path):
        pandas = pytest.importorskip("pandas")
        pandas.DataFrame({"picture": [b"x"], "label": [0]}).to_parquet(tmp_path / "a.parquet")
        assert refusal(tmp_path / "a.parquet") == (
            "has no column 'image'; it has 'picture', 'label'. Name the column of encoded images 'image'."
        )

    def test_what_is_no_parquet_is_refused(self, tmp_path):
        (tmp_path / "a.parquet").write_bytes(b"PAR1 and no more")
        assert refusal(tmp_path / "a.parquet").startswith("is not a parquet file, or is damaged (")
