"""timm, transformers and RobustBench, offline: their real loaders on random weights."""

import argparse
import sys
import warnings
import zipfile

import numpy as np
import pytest

from gfscore import audit
from gfscore.errors import FileError, ModelError, OptionError
from gfscore.inputs.models import load_model
from gfscore.inputs.models.shims import no_deprecations, stand_in_for_autoattack, torch_for

torch = pytest.importorskip("torch")
torch_for("these tests")


@pytest.fixture(autouse=True)
def offline(monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    torch.manual_seed(0)


def random_images(size, rows=3):
    return np.random.default_rng(0).random((rows, 3, size, size), dtype=np.float32)


def library(name):
    with no_deprecations():
        return pytest.importorskip(name)


class TestTimm:
    @pytest.fixture
    def checkpoint(self, tmp_path):
        module = library("timm").create_model("resnet10t", num_classes=7).eval()
        torch.save({"state_dict": module.state_dict()}, tmp_path / "net.pt")
        return module, tmp_path / "net.pt"

    def test_weights_from_a_file(self, checkpoint):
        module, path = checkpoint
        model = load_model(f"timm:resnet10t?checkpoint={path}")
        images = random_images(64)
        with torch.no_grad():
            expected = module(torch.from_numpy(images)).numpy()
        np.testing.assert_allclose(model(images), expected, atol=1e-6)
        assert model(images).shape == (3, 7)
        assert model.name == "resnet10t"
        assert not model.module.training

    def test_the_suggested_preprocessing_is_what_timm_does(self, checkpoint):
        model = load_model(f"timm:resnet10t?checkpoint={checkpoint[1]}")
        suggested = model.suggested_preprocessing
        assert suggested == {
            "mean": (0.485, 0.456, 0.406), "std": (0.229, 0.224, 0.225),
            "resize": 201, "crop": (176, 176), "interpolation": "bicubic",
        }  # fmt: skip
        timm = library("timm")
        config = timm.data.resolve_model_data_config(model.module)
        resize, crop, *_ = timm.data.create_transform(**config, is_training=False).transforms
        assert (resize.size, crop.size) == (suggested["resize"], suggested["crop"])

    def test_wrong_names_files_and_weights_are_refused(self, checkpoint, tmp_path):
        with pytest.raises(OptionError, match=r"^model 'timm:resnet10': timm has no 'resnet10'. It has 'resnet10t', "):
            load_model("timm:resnet10")
        with pytest.raises(OptionError, match=r"timm has no 'qqqq'. See timm.list_models\(\).$"):
            load_model("timm:qqqq")
        with pytest.raises(FileError, match=r"nowhere.pt: does not exist. Check the path.$"):
            load_model(f"timm:resnet10t?checkpoint={tmp_path}/nowhere.pt")
        with pytest.raises(FileError, match=r"net.pt: does not fit timm's resnet14t \(.*Missing key"):
            load_model(f"timm:resnet14t?checkpoint={checkpoint[1]}")

    def test_without_a_network_it_says_what_to_do(self):
        library("timm")
        with pytest.raises(ModelError) as caught:
            load_model("timm:resnet10t")
        message = str(caught.value)
        assert message.startswith("model 'timm:resnet10t': its weights could not be had (")
        assert message.endswith("Connect, or give a file: timm:resnet10t?checkpoint=FILE.")


class TestTransformers:
    @pytest.fixture
    def transformers(self):
        return library("transformers")

    @pytest.fixture
    def saved(self, transformers, tmp_path):
        """A tiny network in a folder, as save_pretrained writes it; and the network."""
        config = transformers.ResNetConfig(
            embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], layer_type="basic", num_labels=5
        )
        module = transformers.ResNetForImageClassification(config).eval()
        module.save_pretrained(tmp_path / "net")
        transformers.ConvNextImageProcessor(size={"shortest_edge": 32}, crop_pct=0.875).save_pretrained(
            tmp_path / "net"
        )
        return tmp_path / "net", module

    def test_a_folder_works_offline(self, saved, capfd):
        folder, module = saved
        capfd.readouterr()
        model = load_model(f"hf:{folder}")
        images = random_images(32)
        with torch.no_grad():
            expected = module(torch.from_numpy(images)).logits.numpy()
        np.testing.assert_allclose(model(images), expected, atol=1e-6)
        assert model.name == "net"
        assert not model.module.training
        assert capfd.readouterr().err == ""  # no progress bar

    def test_a_relative_folder(self, saved, monkeypatch):
        folder, _ = saved
        monkeypatch.chdir(folder.parent)
        assert load_model("hf:./net").fingerprint == load_model(f"hf:{folder}").fingerprint

    @pytest.mark.parametrize(
        ("kind", "options", "mean", "std", "resize", "crop", "interpolation"),
        [
            ("ViTImageProcessor", {"size": {"height": 32, "width": 48}}, 0.5, 0.5, (32, 48), None, "bilinear"),
            ("ConvNextImageProcessor", {"size": {"shortest_edge": 32}, "crop_pct": 0.875}, 0.5, 0.5, 36, (32, 32),
             "bicubic"),
            ("ConvNextImageProcessor", {"size": {"shortest_edge": 384}}, 0.5, 0.5, (384, 384), (384, 384), "bicubic"),
            ("CLIPImageProcessor", {"size": {"shortest_edge": 40}, "crop_size": 32, "image_mean": [0.1, 0.2, 0.3],
             "image_std": [0.4, 0.5, 0.6]}, (0.1, 0.2, 0.3), (0.4, 0.5, 0.6), 40, (32, 32), "bicubic"),
            ("ViTImageProcessor", {"do_normalize": False, "do_resize": False}, 0.0, 1.0, None, None, "bilinear"),
            ("ViTImageProcessor", {"size": {"height": 8, "width": 8}, "rescale_factor": 1 / 127.5}, 0.25, 0.25, (8, 8),
             None, "bilinear"),
        ],
    )  # fmt: skip
    def test_the_suggested_preprocessing_is_what_the_processor_does(
        self, kind, options, mean, std, resize, crop, interpolation, transformers
    ):
        from gfscore.inputs.models.hubs import processor_preprocessing

        processor = getattr(transformers, kind)(**options)
        suggested = processor_preprocessing(processor, "net")
        assert suggested["mean"] == pytest.approx(np.broadcast_to(mean, 3), abs=1e-5)
        assert suggested["std"] == pytest.approx(np.broadcast_to(std, 3), abs=1e-5)
        assert (suggested["resize"], suggested["crop"]) == (resize, crop)
        assert suggested["interpolation"] == interpolation

    def test_a_processor_that_does_something_else_is_refused(self, transformers):
        from gfscore.inputs.models.hubs import processor_preprocessing

        processor = transformers.MobileViTImageProcessor(do_flip_channel_order=True)  # blue, green, red
        with pytest.raises(ModelError, match=r"^model 'hf:net': its MobileViTImageProcessor does more to images than"):
            processor_preprocessing(processor, "net")

    def test_a_network_without_a_trained_head_is_refused(self, transformers, saved):
        folder, module = saved
        transformers.ResNetModel(module.config).save_pretrained(folder)
        with pytest.raises(ModelError, match=r"has no weights for 'classifier.1.bias', 'classifier.1.weight'; they"):
            load_model(f"hf:{folder}")

    @pytest.mark.long  # twenty seconds of waiting for an answer
    def test_without_a_network_it_says_what_to_do(self, transformers):
        with pytest.raises(ModelError) as caught:
            load_model("hf:nobody/nothing")
        message = str(caught.value)
        assert message.startswith("model 'hf:nobody/nothing' could not be loaded (")
        assert message.endswith("or give a folder with config, weights and preprocessor_config.json.")
        assert "\n" not in message


class TestRobustBench:
    NAME = "Sehwag2021Proxy_R18"

    @pytest.fixture
    def zoo(self):
        pytest.importorskip("pyautoattack")
        stand_in_for_autoattack()
        return library("robustbench.model_zoo")

    @pytest.fixture
    def module(self, zoo):
        (models,) = (by_threat for data, by_threat in zoo.model_dicts.items() if data.value == "cifar10")
        (l2,) = (models for threat, models in models.items() if threat.value == "L2")
        return l2[self.NAME]["model"]().eval()

    @pytest.fixture
    def file(self, tmp_path):
        path = tmp_path / "cifar10" / "L2" / f"{self.NAME}.pt"
        path.parent.mkdir(parents=True)
        return path

    def load(self, tmp_path):
        return load_model(f"robustbench:cifar10/L2/{self.NAME}", model_dir=tmp_path)

    def test_the_real_loader_takes_random_weights(self, module, file, tmp_path):
        torch.save(module.state_dict(), file)
        model = self.load(tmp_path)
        images = random_images(32)
        with torch.no_grad():
            expected = module(torch.from_numpy(images)).numpy()
        np.testing.assert_allclose(model(images), expected, atol=1e-5)
        assert (model.name, model.suggested_preprocessing) == (self.NAME, None)
        audited = audit(model(images), [0, 1, 2], name=model.name)
        assert audited.accuracy == pytest.approx((expected.argmax(axis=1) == [0, 1, 2]).mean())
        assert not model.module.training

    def test_numbers_and_options_beside_the_weights_are_harmless(self, module, file, tmp_path):
        extras = {"best": np.float64(0.9), "curve": np.zeros(3), "args": argparse.Namespace(lr=0.1)}
        torch.save({"state_dict": module.state_dict(), **extras}, file)
        first = self.load(tmp_path).fingerprint
        with zipfile.ZipFile(file) as archive:  # as numpy 1 wrote it
            contents = {name: archive.read(name) for name in archive.namelist()}
        with zipfile.ZipFile(file, "w") as archive:
            for name, content in contents.items():
                archive.writestr(name, content.replace(b"numpy._core.multiarray", b"numpy.core.multiarray"))
        assert b"numpy.core.multiarray" in file.read_bytes()
        assert self.load(tmp_path).fingerprint == first

    def test_code_in_a_checkpoint_is_refused(self, module, file, tmp_path):
        torch.save(module, file)  # the whole module, pickled
        with pytest.raises(FileError, match=rf"{self.NAME}.pt: holds more than weights \(.*\), and loading that could"):
            self.load(tmp_path)

    def test_the_checkpoint_of_another_network_is_refused(self, zoo, file, tmp_path):
        torch.save({"weight": torch.zeros(3)}, file)
        with pytest.raises(FileError, match=rf"{self.NAME}.pt: cannot be loaded as {self.NAME} \(.*\). Download it"):
            self.load(tmp_path)

    def test_without_a_network_it_says_where_to_put_the_file(self, zoo, tmp_path, monkeypatch, capfd):
        def no_network(*_args):
            sys.stdout.write("Downloading ...")
            raise OSError("no route to host")

        monkeypatch.setattr(library("robustbench.utils"), "download_gdrive_new", no_network)
        with pytest.raises(FileError) as caught:
            self.load(tmp_path)
        assert str(caught.value) == (
            f"{tmp_path}/cifar10/L2/{self.NAME}.pt: is not there and could not be downloaded (no route to host). "
            "Put the checkpoint there."
        )
        assert capfd.readouterr().out == ""  # what it prints does not get between our results

    @pytest.mark.parametrize(
        ("spec", "message"),
        [
            ("mnist/L2/a", "RobustBench has no data set 'mnist'. It has 'cifar10', 'cifar100', 'imagenet'."),
            ("cifar10/l2/a", "RobustBench has no 'l2' for cifar10. It has 'L2', 'Linf', 'corruptions'."),
            ("cifar10/L2/Rade2021", "RobustBench has no such model for cifar10/L2. It has 'Rade2021Helper_R18_ddpm'."),
        ],
    )
    def test_wrong_names_are_refused(self, spec, message, zoo):
        with pytest.raises(OptionError) as caught:
            load_model(f"robustbench:{spec}")
        assert str(caught.value) == f"model 'robustbench:{spec}': {message}"


def test_torchvision_imports_although_its_library_may_not_load():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        torchvision = pytest.importorskip("torchvision")
    assert torchvision.models.resnet18
