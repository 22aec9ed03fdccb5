"""Write the fitted network as int8 ONNX with its tokenizer and its card of facts, ready to be run without torch.

python export.py --base MODEL_FOLDER --fitted FOLDER --out exported
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
import onnx
import torch
from network import POINTER, StatementNetwork
from onnxruntime.quantization import QuantType, quantize_dynamic
from onnxruntime.quantization.shape_inference import quant_pre_process
from rows import BEFORE_TOKENS, KINDS, LETTERS, NAME_KINDS, TENSES, TURN_TOKENS, places, read
from torch import nn


def glue(paths: list[Path], least: int = 4) -> list[str]:
    """Return the words that labelled rows leave out between two pieces: conjunctions of several languages, never a negation."""
    seen: Counter[str] = Counter()
    for path in paths:
        for row in (row for row in read(path) if row.get("pieces")):
            spans = places(row) or []
            ends = [0, *(end for _, end in spans)]
            for end, start in zip(ends, [start for start, _ in spans], strict=False):
                words = row["text"][end:start].strip(" ,;:.-–—\n\t").lower()
                if words and len(words) < 16:
                    seen[words] += 1
    return sorted(word for word, count in seen.items() if count >= least and any(c.isalpha() for c in word))


def judge(network: StatementNetwork) -> onnx.ModelProto:
    """Return the two layers that judge pooled pieces. A graph of their own: numpy would use threads."""
    weights = {
        name: layer.detach().numpy().astype(np.float32)
        for name, layer in (("first", network.first.weight.T), ("first_bias", network.first.bias),
                            ("second", network.second.weight.T), ("second_bias", network.second.bias))
    }  # fmt: skip
    nodes = [
        onnx.helper.make_node("Gemm", ["pooled", "first", "first_bias"], ["hidden"]),
        onnx.helper.make_node("Relu", ["hidden"], ["active"]),
        onnx.helper.make_node("Gemm", ["active", "second", "second_bias"], ["scores"]),
    ]
    graph = onnx.helper.make_graph(
        nodes, "judge",
        [onnx.helper.make_tensor_value_info("pooled", onnx.TensorProto.FLOAT, ["pieces", weights["first"].shape[0]])],
        [onnx.helper.make_tensor_value_info("scores", onnx.TensorProto.FLOAT, ["pieces", weights["second"].shape[1]])],
        [onnx.numpy_helper.from_array(np.ascontiguousarray(array), name) for name, array in weights.items()],
    )  # fmt: skip
    return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)


class Reading(nn.Module):
    """The part of the network that the package runs on every message."""

    def __init__(self, network: StatementNetwork) -> None:
        super().__init__()
        self.network = network

    def forward(
        self, ids: torch.Tensor, mask: torch.Tensor, segments: torch.Tensor, letters: torch.Tensor
    ) -> tuple[torch.Tensor, ...]:
        borders, pointer, states, names = self.network(ids, mask, segments, letters)
        return borders, pointer, states, names


def mean(states: list[dict[str, torch.Tensor]]) -> dict[str, torch.Tensor]:
    """Return the mean of the weights of networks that were fitted from the same beginning."""
    first = states[0]
    return {name: sum(state[name] for state in states) / len(states) if first[name].is_floating_point() else first[name]
            for name in first}  # fmt: skip


def main() -> None:
    ask = argparse.ArgumentParser(description=__doc__)
    ask.add_argument("--base", required=True)
    ask.add_argument("--fitted", nargs="+", type=Path, required=True, help="several networks are averaged")
    ask.add_argument("--rows", nargs="+", type=Path, required=True)
    ask.add_argument("--out", type=Path, required=True)
    given = ask.parse_args()
    fitted = [torch.load(folder / "network.pt") for folder in given.fitted]
    network = StatementNetwork(given.base, fitted[0]["layers"])
    network.load_state_dict(mean([one["state"] for one in fitted]))
    network.eval()
    given.out.mkdir(parents=True, exist_ok=True)
    onnx.save(judge(network), str(given.out / "judge.onnx"))
    ids = torch.randint(1000, 2000, (2, 24))
    with tempfile.TemporaryDirectory() as folder:
        whole, ready = f"{folder}/whole.onnx", f"{folder}/ready.onnx"
        inputs, outputs = ["ids", "mask", "segments", "letters"], ["borders", "pointer", "states", "names"]
        axes = {0: "batch", 1: "tokens"}
        torch.onnx.export(
            Reading(network), (ids, ids * 0 + 1, ids * 0, torch.zeros(*ids.shape, LETTERS)), whole, dynamo=False,
            opset_version=17, input_names=inputs, output_names=outputs, dynamic_axes=dict.fromkeys((*inputs, *outputs), axes),
        )  # fmt: skip
        quant_pre_process(whole, ready, skip_symbolic_shape=True)
        small = [node.name for node in onnx.load(ready).graph.node if node.name.startswith("/network/names")]
        quantize_dynamic(
            ready, str(given.out / "model.onnx"), weight_type=QuantType.QInt8, per_channel=True, reduce_range=False,
            nodes_to_exclude=small,
        )  # fmt: skip
    shutil.copy(Path(given.base) / "tokenizer.json", given.out / "tokenizer.json")
    card = {
        "kinds": KINDS, "tenses": TENSES, "names": NAME_KINDS,
        "pointer": POINTER, "before_tokens": BEFORE_TOKENS, "turn_tokens": TURN_TOKENS,
        "glue": glue(given.rows),
    }  # fmt: skip
    (given.out / "card.json").write_text(json.dumps(card, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    print(card["glue"], (given.out / "model.onnx").stat().st_size / 1e6, "MB")


if __name__ == "__main__":
    main()
