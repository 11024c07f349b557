"""Tiny models with random weights, built in a second: BERT and RoBERTa of two layers, as folders like real ones."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import pytest

from measures.neural.environment import configure, get_environment
from measures.neural.folders import describe_folder
from measures.neural.model_files import MANIFEST

Architecture = Literal["bert", "roberta"]
Kind = Literal["encoder", "masked", "cross"]

SEED = 17
LAYERS, WIDTH, HEADS, POSITIONS = 2, 32, 4, 512

_WORDS = (
    "the a an of in on at to from and or not is was are it they he she who what where when why how which yes no cat "
    "dog hound mat boat boats pier north south east west quay stone tony stark anthony edward man woman ship captain "
    "sailed sail left leaves daily sundays morning evening ten two three one open opens closed book wrote write story "
    "letter friend home house door window red blue big small old new good bad long short day night"
)
WORDS = _WORDS.split()
"""What the tokenisers know as whole words; all else falls into letters, or bytes, or is unknown to BERT."""


@dataclass(frozen=True)
class TinyModels:
    """Folders of tiny models, built when first asked for and never changed after that."""

    folder: Path
    built: dict[str, Path] = field(default_factory=dict)

    def build(
        self, architecture: Architecture = "bert", kind: Kind = "encoder", *, name: str = "", **config: Any
    ) -> Path:
        """Return the folder of a model; `config` overrides its configuration, such as num_labels=2.

        The folder has `config.json`, `model.safetensors` and the files of the tokeniser, nothing of Concord's own. Give
        a `name` to get a folder of your own, which may be changed.
        """
        name = name or "-".join([architecture, kind, *(f"{key}-{value}" for key, value in sorted(config.items()))])
        if name not in self.built:
            self.built[name] = _save(self.folder / name, architecture, kind, config)
        return self.built[name]

    def register(self, architecture: Architecture = "bert", kind: Kind = "encoder", **described: Any) -> str:
        """Return the name of a model whose folder says what it is; `described` are arguments of describe_folder."""
        name = "-".join([architecture, kind, *(f"{key}-{value}" for key, value in sorted(described.items()))])
        return self.describe(self.build(architecture, kind, name=f"{name}-registered"), kind, **described)

    def describe(self, folder: Path, kind: Kind = "encoder", **described: Any) -> str:
        """Write the description of a folder, unless it has one, and return its name."""
        if not (folder / MANIFEST).exists():
            describe_folder(folder, kind=kind, **described)
        return folder.name

    def build_sentence_encoder(
        self, architecture: Architecture = "bert", *, pooling: str = "mean", normalises: bool = True, dense: int = 0
    ) -> Path:
        """Return the folder of an encoder with the files by which sentence-transformers knows how to pool it.

        `pooling` is mean, cls or max; `dense` the width of a Dense module, 0 for none.
        """
        name = f"{architecture}-sentence-{pooling}{'-normalised' * normalises}{f'-dense{dense}' * bool(dense)}"
        if name not in self.built:
            folder = self.build(architecture, name=name)
            _add_sentence_modules(folder, pooling, normalises=normalises, dense=dense)
        return self.built[name]


@pytest.fixture(scope="session")
def tiny_models(tmp_path_factory: pytest.TempPathFactory) -> TinyModels:
    """Tests with this fixture run in one process of `pytest -n`, so that torch is loaded once (tests/conftest.py)."""
    for package in ("torch", "transformers", "tokenizers", "safetensors"):
        pytest.importorskip(package, reason="make neural installs what learned metrics need")
    import transformers

    transformers.utils.logging.disable_progress_bar()
    return TinyModels(tmp_path_factory.mktemp("tiny-models"))


@pytest.fixture
def registered_models(tiny_models: TinyModels) -> Iterator[TinyModels]:
    """Use the folder of the tiny models as the registry of models, in this process and for this test."""
    before = get_environment()
    configure(replace(before, models_dir=tiny_models.folder))
    yield tiny_models
    configure(before)


def _save(folder: Path, architecture: Architecture, kind: Kind, config: dict[str, Any]) -> Path:
    import torch
    import transformers

    tokenizer = _make_bert_tokenizer() if architecture == "bert" else _make_roberta_tokenizer()
    tokenizer.save_pretrained(folder)
    size = {
        "vocab_size": len(tokenizer),
        "hidden_size": WIDTH,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "intermediate_size": 2 * WIDTH,
        # RoBERTa numbers positions from 2.
        "max_position_embeddings": POSITIONS + 2 * (architecture == "roberta"),
        "pad_token_id": tokenizer.pad_token_id,
        # Larger than in training: with small random weights all texts would have much the same vectors.
        "initializer_range": 0.3,
        "hidden_dropout_prob": 0.1,
    }
    if kind == "cross":
        size["num_labels"] = 1
    prefix = {"bert": "Bert", "roberta": "Roberta"}[architecture]
    head = {"encoder": "Model", "masked": "ForMaskedLM", "cross": "ForSequenceClassification"}[kind]
    if architecture == "roberta":
        size |= {"bos_token_id": tokenizer.bos_token_id, "eos_token_id": tokenizer.eos_token_id, "type_vocab_size": 1}
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(SEED)
        made = getattr(transformers, f"{prefix}Config")(**{**size, **config})
        model = getattr(transformers, f"{prefix}{head}")(made)
        with torch.no_grad():
            for parameter in model.parameters():
                # A bias of zero would hide a head that leaves it out.
                if parameter.ndim == 1:
                    parameter.add_(0.1 * torch.randn_like(parameter))
    model.eval()
    model.save_pretrained(folder)
    return folder


def _make_bert_tokenizer() -> Any:
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

    specials = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    letters = [chr(code) for code in range(ord("a"), ord("z") + 1)] + [str(digit) for digit in range(10)]
    listed = dict.fromkeys([*specials, *WORDS, *letters, *(f"##{each}" for each in letters), *".,?!'-:;"])
    vocabulary = {token: place for place, token in enumerate(listed)}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    ends = [("[CLS]", vocabulary["[CLS]"]), ("[SEP]", vocabulary["[SEP]"])]
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=ends
    )
    read = ["input_ids", "token_type_ids", "attention_mask"]
    return _wrap(tokenizer, read, unk="[UNK]", pad="[PAD]", cls="[CLS]", sep="[SEP]", mask="[MASK]")


def _make_roberta_tokenizer() -> Any:
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, processors

    specials = ["<s>", "<pad>", "</s>", "<unk>"]
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {token: place for place, token in enumerate([*specials, *alphabet])}
    merges: list[tuple[str, str]] = []
    for word in WORDS:
        # Each prefix of a word is a token, so that its letters are merged from left to right; Ġ is the space before.
        token = "Ġ"
        for letter in word:
            if token + letter not in vocabulary:
                merges.append((token, letter))
                vocabulary[token + letter] = len(vocabulary)
            token += letter
    vocabulary["<mask>"] = len(vocabulary)
    tokenizer = Tokenizer(models.BPE(vocabulary, merges, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.RobertaProcessing(
        ("</s>", vocabulary["</s>"]), ("<s>", vocabulary["<s>"]), add_prefix_space=False
    )
    # As in RoBERTa: the space before a mask belongs to it.
    tokenizer.add_special_tokens([AddedToken("<mask>", lstrip=True, special=True)])
    read = ["input_ids", "attention_mask"]
    return _wrap(tokenizer, read, unk="<unk>", pad="<pad>", cls="<s>", sep="</s>", mask="<mask>", bos="<s>", eos="</s>")


def _wrap(tokenizer: Any, read: list[str], **specials: str) -> Any:
    from transformers import PreTrainedTokenizerFast

    named: dict[str, Any] = {f"{name}_token": token for name, token in specials.items()}
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, model_max_length=POSITIONS, model_input_names=read, **named
    )


def _add_sentence_modules(folder: Path, pooling: str, *, normalises: bool, dense: int) -> None:
    modules = ["Transformer", "Pooling", *(["Dense"] if dense else []), *(["Normalize"] if normalises else [])]
    listed = [
        {
            "idx": place,
            "name": str(place),
            "path": "" if name == "Transformer" else f"{place}_{name}",
            "type": f"sentence_transformers.models.{name}",
        }
        for place, name in enumerate(modules)
    ]
    _write_json(folder / "modules.json", listed)
    _write_json(folder / "sentence_bert_config.json", {"max_seq_length": 64, "do_lower_case": False})
    modes = {"cls": "cls_token", "mean": "mean_tokens", "max": "max_tokens"}
    pooled = {f"pooling_mode_{each}": each == modes[pooling] for each in modes.values()}
    _write_json(folder / "1_Pooling" / "config.json", {"word_embedding_dimension": WIDTH, **pooled})
    if dense:
        _save_dense(folder / "2_Dense", dense)


def _save_dense(folder: Path, width: int) -> None:
    import torch
    from safetensors.torch import save_file

    activation = "torch.nn.modules.activation.Tanh"
    config = {"in_features": WIDTH, "out_features": width, "bias": True, "activation_function": activation}
    _write_json(folder / "config.json", config)
    random = torch.Generator().manual_seed(SEED)
    weights = {
        "linear.weight": torch.randn(width, WIDTH, generator=random),
        "linear.bias": torch.randn(width, generator=random),
    }
    save_file(weights, folder / "model.safetensors")


def _write_json(path: Path, content: Any) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(content), encoding="utf-8")
