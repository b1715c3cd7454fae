"""What a model says about the images it was trained on."""

from typing import TypedDict


class SuggestedPreprocessing(TypedDict):
    """Evaluation preprocessing that comes with a model, for images scaled to [0, 1].

    First ``resize`` (an integer is the shorter edge, a pair is height and width), then a centred ``crop`` (height and
    width), then ``(x - mean) / std`` per channel.
    """

    mean: tuple[float, ...]
    std: tuple[float, ...]
    resize: int | tuple[int, int] | None
    crop: tuple[int, int] | None
    interpolation: str
