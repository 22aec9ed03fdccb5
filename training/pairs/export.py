"""Write the fitted pair model as int8 ONNX with its card, ready to be run without torch. Several networks are averaged.

python export.py --base MODEL_FOLDER --fitted FOLDER... --out ../../src/engram/models/pairs
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path

import torch
from network import PairNetwork
from onnxruntime.quantization import QuantType, quantize_dynamic
from onnxruntime.quantization.shape_inference import quant_pre_process
from rows import LABELS, TOKENS


def main() -> None:
    ask = argparse.ArgumentParser(description=__doc__)
    ask.add_argument("--base", required=True)
    ask.add_argument("--fitted", nargs="+", type=Path, required=True)
    ask.add_argument("--out", type=Path, required=True)
    given = ask.parse_args()
    fitted = [torch.load(folder / "network.pt") for folder in given.fitted]
    states = [one["state"] for one in fitted]
    network = PairNetwork(given.base, fitted[0]["layers"])
    network.load_state_dict(
        {
            name: sum(state[name] for state in states) / len(states) if value.is_floating_point() else value
            for name, value in states[0].items()
        }
    )
    network.eval()
    given.out.mkdir(parents=True, exist_ok=True)
    ids = torch.randint(1000, 2000, (2, 24))
    segments = torch.cat((torch.zeros(2, 12), torch.ones(2, 12)), 1).long()
    with tempfile.TemporaryDirectory() as folder:
        whole, ready = f"{folder}/whole.onnx", f"{folder}/ready.onnx"
        names, axes = ["ids", "mask", "segments"], {0: "batch", 1: "tokens"}
        torch.onnx.export(
            network, (ids, torch.ones_like(ids), segments), whole, dynamo=False, opset_version=17,
            input_names=names, output_names=["scores"], dynamic_axes={**dict.fromkeys(names, axes), "scores": {0: "batch"}},
        )  # fmt: skip
        quant_pre_process(whole, ready, skip_symbolic_shape=True)
        quantize_dynamic(ready, str(given.out / "model.onnx"), weight_type=QuantType.QInt8, per_channel=True, reduce_range=False)
    card = {"labels": LABELS, "tokens": TOKENS}
    (given.out / "card.json").write_text(json.dumps(card, indent=1) + "\n", encoding="utf-8")
    print((given.out / "model.onnx").stat().st_size / 1e6, "MB")


if __name__ == "__main__":
    main()
