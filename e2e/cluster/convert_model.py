"""Write a GGUF model as a folder that vLLM serves: python convert_model.py MODEL.gguf FOLDER (in the environment of vLLM)."""
# mypy: ignore-errors
import json
import sys
from pathlib import Path

import torch
from safetensors.torch import save_file
from transformers import AutoModelForCausalLM, AutoTokenizer

source, folder = Path(sys.argv[1]), Path(sys.argv[2])
model = AutoModelForCausalLM.from_pretrained(source.parent, gguf_file=source.name, dtype=torch.bfloat16)

# save_pretrained refuses a model that came from GGUF; the head is left out because it is the embedding itself
weights = {name: tensor.contiguous() for name, tensor in model.state_dict().items() if name != "lm_head.weight"}
save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
config = {name: value for name, value in model.config.to_dict().items() if name != "quantization_config"}
config |= {"architectures": ["LlamaForCausalLM"], "dtype": "bfloat16", "tie_word_embeddings": True}
(folder / "config.json").write_text(json.dumps(config, indent=2))
AutoTokenizer.from_pretrained(source.parent, gguf_file=source.name).save_pretrained(folder)
for path in folder.glob("*"):
    if path.is_file():
        path.chmod(0o644)  # safetensors writes 0600, pods run as another user
