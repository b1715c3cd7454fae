"""Class-conditional generators: ``z ~ N(0, I)`` and a class give an image, drawn when it is asked for.

The rows of class k are drawn in blocks of fixed length, block b from ``default_rng([seed, k, b])``, and every block
goes through the generator whole. So an image depends on the seed, its class and its place in the class, and on
nothing else: not on how many are drawn, nor on the batches they are read in.
"""

import hashlib
import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gfscore import zoo
from gfscore.arrays import IntArray
from gfscore.errors import FileError, OptionError, first_line, require
from gfscore.inputs.models.fingerprints import hash_texts, module_fingerprint, source_hash
from gfscore.inputs.protocols import Layout, with_channels
from gfscore.storage import Watched, changed_file, to_read

GENERATOR, TORCH, ZOO = "generator:", "torch:", "zoo"
BLOCK = 50  # images drawn together; divides the usual numbers per class
N_PER_CLASS = 100
FLOATS = {"tensor(float)": np.float32, "tensor(float16)": np.float16, "tensor(double)": np.float64}
INTEGERS = {"tensor(int64)": np.int64, "tensor(int32)": np.int32}
Latents = NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class Generator:
    """A map from latents (n, ...) and classes (n,) to images (n, ...), with what is known of it."""

    draw: Callable[[Latents, IntArray], NDArray[Any]]
    latent_shape: tuple[int, ...]
    fingerprint: str  # of what it is made of: file, weights
    n_classes: int | None = None
    batch: int | None = None  # the only number of images it makes at once, if there is one
    files: Watched | None = None  # what it was read from


@dataclass(frozen=True, kw_only=True, eq=False)
class GeneratorData:
    """A :class:`~gfscore.inputs.protocols.Dataset` of generated images, class after class."""

    source: str
    generator: Generator
    n_classes: int
    n_per_class: int
    seed: int
    class_names: tuple[str, ...] | None = None
    given_layout: Layout | None = None
    sample_ids: tuple[str, ...] | None = None
    class_sizes: IntArray | None = None  # a generator is no fixed set
    held: dict[tuple[int, int], NDArray[Any]] = field(default_factory=dict, repr=False)  # the block drawn last

    @cached_property
    def labels(self) -> IntArray:
        """Classes, each ``n_per_class`` times."""
        return np.repeat(np.arange(self.n_classes), self.n_per_class)

    @cached_property
    def layout(self) -> Layout:
        """Order of the axes of the images, from the first of them."""
        return with_channels(self._block(0, 0), self.given_layout)[1]

    @cached_property
    def fingerprint(self) -> str:
        """Hash of the generator, the first images it draws, the seed, and how many are drawn."""
        first = np.ascontiguousarray(self._block(0, 0))
        drawn = f"{self.generator.fingerprint} {self.seed} {self.n_classes} {self.n_per_class} {BLOCK} {first.shape}"
        return hashlib.sha256(drawn.encode() + first.tobytes()).hexdigest()

    def changed_file(self) -> Path | None:
        """A file of the generator that changed since it was opened, if there is one."""
        return changed_file(self.generator.files)

    def images(self, rows: slice) -> NDArray[Any]:
        """Images of some rows, in ``layout``, as the generator gives them."""
        start, stop, _ = rows.indices(len(self.labels))
        pieces = []
        while start < stop:
            label, row = divmod(start, self.n_per_class)
            block, within = divmod(row, BLOCK)
            length = min(stop - start, BLOCK - within, self.n_per_class - row)
            pieces.append(self._block(label, block)[within : within + length])
            start += length
        return with_channels(np.concatenate(pieces), self.layout)[0]

    def _block(self, label: int, block: int) -> NDArray[Any]:
        if (label, block) not in self.held:
            self.held.clear()
            self.held[label, block] = self._draw(label, block)
        return self.held[label, block]

    def _draw(self, label: int, block: int) -> NDArray[Any]:
        rng = np.random.default_rng([self.seed, label, block])
        latents = rng.standard_normal((BLOCK, *self.generator.latent_shape), dtype=np.float32)
        batch = self.generator.batch or BLOCK
        filled = np.concatenate([latents, latents[:1].repeat(-BLOCK % batch, axis=0)])
        batches = np.split(filled, len(filled) // batch)
        drawn = [self.generator.draw(few, np.full(batch, label, dtype=np.int64)) for few in batches]
        images = np.concatenate(drawn)[:BLOCK]
        if len(images) != BLOCK:
            raise OptionError(
                f"the generator gave {len(images)} images for {BLOCK} latents. It must give one for each."
            )
        return images


def open_generator(
    spec: str,
    *,
    n_per_class: int | None,
    seed: int,
    n_classes: int | None,
    class_names: Sequence[str] | None,
    layout: Layout | None,
) -> GeneratorData:
    """``generator:FILE.onnx``, ``generator:torch:module:factory`` or ``generator:zoo``, with 100 images a class."""
    name = spec.removeprefix(GENERATOR)
    if name == ZOO:
        generator = onnx_generator(zoo.generator().path)
        class_names = zoo.test_set().class_names if class_names is None else class_names
    elif name.startswith(TORCH):
        generator = torch_generator(name.removeprefix(TORCH))
    else:
        generator = onnx_generator(to_read(name))
    n_names = None if class_names is None else len(class_names)
    counts = [count for count in (n_classes, n_names, generator.n_classes) if count is not None]
    if not counts:
        raise OptionError("does not say how many classes it has. Give --classes (n_classes=) or --class-names.")
    if min(counts) != max(counts) or min(counts) < 2:
        raise OptionError(
            f"has {counts[0]} classes or {counts[-1]}: the number given, the class names and the generator "
            "must agree on one, and on at least 2."
        )
    n_per_class = N_PER_CLASS if n_per_class is None else n_per_class
    data = GeneratorData(
        source=f"{spec} ({n_per_class} per class, seed {seed})",
        generator=generator,
        n_classes=counts[0],
        n_per_class=n_per_class,
        seed=seed,
        class_names=None if class_names is None else tuple(class_names),
        given_layout=layout,
    )
    data.images(slice(0, 1))  # so that a generator that does not work is refused here
    return data


def onnx_generator(path: Path) -> Generator:
    """An ONNX graph with inputs ``z`` and ``label``, or, by other names, its first float and first integer input.

    It is opened as a model is: weights outside the graph stand in its folder, or it is refused. They are part of the
    fingerprint, which without them is the hash of the graph.
    """
    from gfscore.inputs.models.onnx_model import open_graph  # with onnxruntime, which takes its time to import

    _, session, files, hashes = open_graph(path)
    latent = _input(session, "z", FLOATS, "latents (floats)")
    label = _input(session, "label", INTEGERS, "classes (integers)")
    latent_shape = latent.shape[1:]
    if not latent_shape or not all(isinstance(length, int) for length in latent_shape):
        raise FileError(
            f"input {latent.name!r} has shape {latent.shape}. Fix all its axes but the first when exporting."
        )
    if len(label.shape) != 1:
        raise FileError(f"input {label.name!r} has shape {label.shape}; it must take one class per image, shape (n,).")
    inputs = {node.name for node in session.get_inputs()} - {latent.name, label.name}
    if inputs:
        raise FileError(f"has the further input {min(inputs)!r}. A generator takes latents and classes, no more.")

    def draw(latents: Latents, labels: IntArray) -> NDArray[Any]:
        feed = {
            latent.name: latents.astype(FLOATS[latent.type], copy=False),
            label.name: labels.astype(INTEGERS[label.type], copy=False),
        }
        try:
            return np.asarray(session.run(None, feed)[0])
        except Exception as error:
            raise FileError(
                f"failed to generate class {labels[0]} ({first_line(error)}). Check the number of classes."
            ) from error

    return Generator(
        draw=draw,
        latent_shape=tuple(latent_shape),
        fingerprint=hash_texts(*hashes) if len(hashes) > 1 else hashes[0],
        batch=latent.shape[0] if isinstance(latent.shape[0], int) else None,
        files=files,
    )


def _input(session: Any, name: str, types: dict[str, Any], what: str) -> Any:
    nodes = [node for node in session.get_inputs() if node.type in types]
    if not nodes:
        raise FileError(f"has no input of {what}. A generator takes 'z' (n, d) and 'label' (n,).")
    return next((node for node in nodes if node.name == name), nodes[0])


def torch_generator(target: str) -> Generator:
    """What ``module:factory`` returns: a callable ``(z, labels) -> images`` on tensors. This runs the user's code.

    It must have the attributes ``latent_dim`` (or ``z_dim``) and, unless it is said elsewhere, ``n_classes`` (or
    ``num_classes``).
    """
    torch = require("torch", extra="torch", purpose="a torch generator")
    module, _, factory = target.partition(":")
    try:
        network = getattr(importlib.import_module(module), factory)()
    except (ImportError, AttributeError, ValueError, TypeError) as error:
        raise OptionError(
            f"cannot be made ({first_line(error)}). Give torch:package.module:factory, importable from here."
        ) from error
    latent_dim = _attribute(network, "latent_dim", "z_dim")
    if latent_dim is None:
        raise OptionError("does not say how long z is. Give what the factory returns an attribute latent_dim.")
    made_of = [target, source_hash(module)]
    if isinstance(network, torch.nn.Module):
        made_of.append(module_fingerprint(network.eval()))

    def draw(latents: Latents, labels: IntArray) -> NDArray[Any]:
        with torch.inference_mode():
            images = network(torch.from_numpy(latents), torch.from_numpy(labels))
        return np.asarray(images.cpu())

    return Generator(
        draw=draw,
        latent_shape=(latent_dim,),
        fingerprint=hash_texts(*made_of),
        n_classes=_attribute(network, "n_classes", "num_classes"),
    )


def _attribute(network: object, *names: str) -> int | None:
    values = [getattr(network, name) for name in names if isinstance(getattr(network, name, None), int)]
    return values[0] if values else None
