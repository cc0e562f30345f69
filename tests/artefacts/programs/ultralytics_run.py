"""A detector trained by Ultralytics on drawn squares; prints its tables and writes `results.csv` and
`args.yaml`."""

from __future__ import annotations

import os
import random
from pathlib import Path

import torch
from PIL import Image, ImageDraw
from ultralytics import YOLO

torch.set_num_threads(1)
random.seed(0)
data = Path("data").absolute()
for split, count in (("train", 32), ("val", 8)):
    for kind in ("images", "labels"):
        (data / kind / split).mkdir(parents=True)
    for number in range(count):
        image = Image.new("RGB", (64, 64), (random.randint(0, 80),) * 3)
        x, y = random.randint(5, 35), random.randint(5, 35)
        ImageDraw.Draw(image).rectangle([x, y, x + 20, y + 20], fill=(200, 50, 50))
        image.save(data / "images" / split / f"{number}.png")
        box = f"0 {(x + 10) / 64} {(y + 10) / 64} {20 / 64} {20 / 64}\n"
        (data / "labels" / split / f"{number}.txt").write_text(box)
Path("data.yaml").write_text(f"path: {data}\ntrain: images/train\nval: images/val\nnames:\n  0: square\n")
YOLO("yolov8n.yaml").train(
    data="data.yaml",
    epochs=4,
    imgsz=64,
    batch=8,
    workers=0,
    plots=False,
    device="cpu",
    project=os.getcwd(),
    name="train",
)
