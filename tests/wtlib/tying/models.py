"""Small models with two ends, made anew for each test."""

import torch
from torch import nn
from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM


class TinyLM(nn.Module):
    """A table, one layer and a head: 472 numbers tied, 872 untied."""

    def __init__(self) -> None:
        super().__init__()
        self.wte = nn.Embedding(50, 8)
        self.body = nn.Linear(8, 8)
        self.lm_head = nn.Linear(8, 50, bias=False)

    def forward(self, input_ids: torch.Tensor) -> torch.Tensor:
        return self.lm_head(torch.tanh(self.body(self.wte(input_ids))))

    def get_input_embeddings(self) -> nn.Embedding:
        return self.wte

    def get_output_embeddings(self) -> nn.Linear:
        return self.lm_head


def tied() -> TinyLM:
    model = TinyLM()
    model.lm_head.weight = model.wte.weight
    return model


def gpt2() -> GPT2LMHeadModel:
    config = GPT2Config(
        vocab_size=50, n_positions=16, n_embd=8, n_layer=1, n_head=2,
        bos_token_id=None, eos_token_id=None,
    )  # fmt: skip
    return GPT2LMHeadModel(config)


def llama() -> LlamaForCausalLM:
    config = LlamaConfig(
        vocab_size=50, hidden_size=8, intermediate_size=16, num_hidden_layers=1,
        num_attention_heads=2, tie_word_embeddings=True,
    )  # fmt: skip
    return LlamaForCausalLM(config)
