"""The token loop gives the results of plain forward passes, and has no side effects."""

import random
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from coevolve import CoevolveError, Sampling, Task, UserError
from coevolve.plugins.policies import lockstep
from coevolve.plugins.policies.transformers import TransformersOptions, TransformersPolicy

TASK = Task("t", "none", "q")


def words(rng: random.Random, tiny: Any, most: int) -> str:
    return " ".join(rng.choice(tiny.WORDS[:40]) for _ in range(rng.randint(1, most)))


def talk(policy: TransformersPolicy, tiny: Any, seed: int, count: int = 12, turns: int = 4, stay: float = 0.75) -> list[Any]:
    """`count` conversations in threes with one prompt, of uneven lengths; each turn every one goes on with probability `stay`."""
    rng = random.Random(seed)
    prompts = [words(rng, tiny, 20) for _ in range(-(-count // 3))]
    begun = [policy.begin(TASK, [{"role": "user", "content": prompts[row // 3]}], None, row) for row in range(count)]
    live = list(begun)
    for _ in range(turns):
        policy.complete(live, Sampling(1.0, 6, seed))
        live = [conversation for conversation in live if rng.random() < stay]
        rng.shuffle(live)
        for conversation in live:
            conversation.observe([{"role": "tool", "content": words(rng, tiny, 9)}])
    return begun


def largest_gap(model: Any, conversations: list[Any]) -> float:
    """The largest difference between the sampled log-probabilities and those of one plain pass over each whole conversation."""
    gaps: list[float] = []
    for conversation in conversations:
        tokens = conversation.tokens
        ids = tokens.prompt_ids + tokens.completion_ids
        with torch.no_grad():
            plain = model(torch.tensor([ids])).logits[0].float().log_softmax(dim=-1)
        for n, (token, own, logp) in enumerate(zip(tokens.completion_ids, tokens.mask, tokens.logprobs, strict=True)):
            if own:
                gaps.append(abs(plain[len(tokens.prompt_ids) + n - 1, token].item() - logp))
            else:
                assert logp == 0.0
    assert len(gaps) > 40
    return max(gaps)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("attention", ["sdpa", "eager"])
def test_sampled_logprobs_are_the_models(tiny: Any, seed: int, attention: str) -> None:
    model = tiny.model(seed)
    model.set_attn_implementation(attention)
    conversations = talk(TransformersPolicy.of(model, tiny.tokenizer(), TransformersOptions()), tiny, seed)
    assert len({len(c.ids) for c in conversations}) > 3
    assert largest_gap(model, conversations) < 1e-4


def test_a_model_with_learned_positions(tiny: Any) -> None:
    from transformers import GPT2Config, GPT2LMHeadModel

    with torch.random.fork_rng():
        torch.manual_seed(0)
        config = GPT2Config(vocab_size=7 + len(tiny.WORDS), n_embd=32, n_layer=2, n_head=4, n_positions=256, initializer_range=0.5)
        model: Any = GPT2LMHeadModel(config)
    assert largest_gap(model, talk(TransformersPolicy.of(model.eval(), tiny.tokenizer(), TransformersOptions()), tiny, 0)) < 1e-4


def test_a_conversation_that_joins_later(tiny: Any) -> None:
    model = tiny.model()
    policy = TransformersPolicy.of(model, tiny.tokenizer(), TransformersOptions())
    first = talk(policy, tiny, 1, count=4, turns=1, stay=1.0)
    late = policy.begin(TASK, [{"role": "user", "content": "w1 w2"}], None, 9)
    policy.complete([late, *first], Sampling(1.0, 8, 1))
    policy.complete([late], Sampling(1.0, 8, 1))
    assert largest_gap(model, [late, *first]) < 1e-4


def test_released_conversations_can_go_on(tiny: Any) -> None:
    model = tiny.model()
    policy = TransformersPolicy.of(model, tiny.tokenizer(), TransformersOptions())
    policy.release()
    conversations = talk(policy, tiny, 4, count=6, turns=1, stay=1.0)
    policy.release()
    policy.complete(conversations, Sampling(1.0, 8, 4))
    assert largest_gap(model, conversations) < 1e-4


def test_new_weights_invalidate_what_was_cached(tiny: Any) -> None:
    model = tiny.model()
    policy = TransformersPolicy.of(model, tiny.tokenizer(), TransformersOptions())
    conversations = talk(policy, tiny, 2, count=3, turns=1, stay=1.0)
    with torch.no_grad():
        model.model.layers[0].mlp.down_proj.weight.mul_(-3.0)
    starts = [len(c.ids) for c in conversations]
    policy.complete(conversations, Sampling(1.0, 8, 3))
    for conversation, start in zip(conversations, starts, strict=True):
        with torch.no_grad():
            plain = model(torch.tensor([conversation.ids])).logits[0].log_softmax(dim=-1)
        prompt = conversation.prompt_length
        for n in range(start, len(conversation.ids)):
            assert plain[n - 1, conversation.ids[n]].item() == pytest.approx(conversation.logprobs[n - prompt], abs=1e-4)


def test_the_draw_depends_on_seed_row_and_token_alone(tiny: Any) -> None:
    policy = TransformersPolicy.of(tiny.model(), tiny.tokenizer(), TransformersOptions())
    random.seed(1)
    torch.manual_seed(1)
    state = torch.random.get_rng_state()
    whole = [c.tokens for c in talk(policy, tiny, 3)]
    assert torch.equal(state, torch.random.get_rng_state())
    torch.manual_seed(2)
    assert [c.tokens for c in talk(policy, tiny, 3)] == whole
    alone = policy.begin(TASK, [{"role": "user", "content": policy.tokenizer.decode(whole[7].prompt_ids[1:-2])}], None, 7)
    policy.complete([alone], Sampling(1.0, 6, 3))
    assert alone.tokens.prompt_ids == whole[7].prompt_ids
    length = len(alone.tokens.completion_ids)
    assert alone.tokens.completion_ids == whole[7].completion_ids[:length]
    other = policy.begin(TASK, alone.messages[:1], None, 8)
    policy.complete([other], Sampling(1.0, 6, 3))
    assert other.ids != alone.ids


def test_greedy_takes_the_best_token(tiny: Any) -> None:
    model = tiny.model()
    policy = TransformersPolicy.of(model, tiny.tokenizer(), TransformersOptions())
    conversation = policy.begin(TASK, [{"role": "user", "content": "w3 w4 w5"}], None, 0)
    policy.complete([conversation], Sampling(0.0, 12, 0))
    start = conversation.prompt_length
    with torch.no_grad():
        best = model(torch.tensor([conversation.ids])).logits[0].argmax(dim=-1).tolist()
    assert conversation.ids[start:] == best[start - 1 : -1]
    assert set(conversation.logprobs) == {0.0}


def test_temperature_gives_the_logprobs_of_what_was_sampled_from(tiny: Any) -> None:
    model = tiny.model()
    policy = TransformersPolicy.of(model, tiny.tokenizer(), TransformersOptions())
    conversation = policy.begin(TASK, [{"role": "user", "content": "w3 w4 w5"}], None, 0)
    policy.complete([conversation], Sampling(2.5, 12, 0))
    with torch.no_grad():
        plain = (model(torch.tensor([conversation.ids])).logits[0] / 2.5).log_softmax(dim=-1)
    for n, logp in enumerate(conversation.logprobs, start=conversation.prompt_length):
        assert plain[n - 1, conversation.ids[n]].item() == pytest.approx(logp, abs=1e-4)


def test_end_token_is_sampled_and_not_text(tiny: Any) -> None:
    policy = TransformersPolicy.of(tiny.model(), tiny.tokenizer(), TransformersOptions())
    conversations = [policy.begin(TASK, [{"role": "user", "content": f"w{n}"}], None, n) for n in range(40)]
    texts = policy.complete(conversations, Sampling(1.0, 30, 0))
    ended = [(c, text) for c, text in zip(conversations, texts, strict=True) if c.ids[-1] == policy.tokenizer.eos_token_id]
    assert len(ended) > 10
    for conversation, text in zip(conversations, texts, strict=True):
        written = conversation.ids[conversation.prompt_length :]
        assert text is not None and "<|" not in text
        assert conversation.messages[-1] == {"role": "assistant", "content": text}
        assert conversation.mask == [1] * len(written)
        assert policy.tokenizer.eos_token_id not in written[:-1]
        assert len(written) == 30 or written[-1] == policy.tokenizer.eos_token_id


def test_no_room_is_none_and_room_is_never_exceeded(tiny: Any) -> None:
    policy = TransformersPolicy.of(tiny.model(), tiny.tokenizer(), TransformersOptions(max_context=24))
    small = policy.begin(TASK, [{"role": "user", "content": "w1"}], None, 0)
    large = policy.begin(TASK, [{"role": "user", "content": " ".join(["w2"] * 30)}], None, 1)
    texts = policy.complete([large, small], Sampling(1.0, 64, 0))
    assert texts[0] is None and texts[1] is not None
    assert len(small.ids) <= 24 and large.tokens.completion_ids == () and large.messages[-1]["role"] == "user"
    small.observe([{"role": "user", "content": " ".join(["w3"] * 20)}])
    assert policy.complete([small], Sampling(1.0, 64, 0)) == [None]
    assert policy.complete([], Sampling()) == []


def test_training_mode_comes_back(tiny: Any) -> None:
    model = tiny.model().train()
    model.model.norm.eval()
    policy = TransformersPolicy.of(model, tiny.tokenizer(), TransformersOptions())
    policy.complete([policy.begin(TASK, [{"role": "user", "content": "w1"}], None, 0)], Sampling(1.0, 2, 0))
    assert model.training and model.model.layers[0].training and not model.model.norm.training
    assert not any(p.grad is not None for p in model.parameters())


def test_models_that_would_be_sampled_wrongly_are_refused(tiny: Any) -> None:
    from transformers import BloomConfig, BloomForCausalLM, MistralConfig, MistralForCausalLM

    vocabulary = 7 + len(tiny.WORDS)
    sizes: dict[str, Any] = {"vocab_size": vocabulary, "hidden_size": 32, "num_attention_heads": 4}
    mistral = MistralConfig(**sizes, intermediate_size=32, num_hidden_layers=1, num_key_value_heads=2, sliding_window=8)
    narrow = TransformersPolicy.of(MistralForCausalLM(mistral), tiny.tokenizer(), TransformersOptions())
    with pytest.raises(UserError, match=r"last 8 tokens only: set policy\.max_context"):
        _ = narrow.engine
    bloom = BloomForCausalLM(BloomConfig(**sizes, n_layer=1))  # Bloom computes positions from a two-dimensional mask
    with pytest.raises(UserError, match="BloomForCausalLM"):
        _ = TransformersPolicy.of(bloom, tiny.tokenizer(), TransformersOptions()).engine


def test_damaged_weights_are_named(tiny: Any) -> None:
    model = tiny.model()
    policy = TransformersPolicy.of(model, tiny.tokenizer(), TransformersOptions())
    conversations = talk(policy, tiny, 0, count=3, turns=1, stay=1.0)
    with torch.no_grad():
        model.model.norm.weight.fill_(float("nan"))
    with pytest.raises(CoevolveError, match="logits are not finite") as caught:
        policy.complete(conversations, Sampling(1.0, 4, 0))
    assert caught.value.change == "trainer.learning_rate=SMALLER"


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_weights_that_are_not_finite_from_the_beginning_are_not_blamed_on_the_architecture(tiny: Any, tmp_path: Path, value: float) -> None:
    model = tiny.model()
    with torch.no_grad():
        model.model.norm.weight.fill_(value)
    model.save_pretrained(tmp_path)
    tiny.tokenizer().save_pretrained(tmp_path)
    with pytest.raises(UserError, match=rf"the weights of LlamaForCausalLM in {tmp_path} are not finite") as caught:
        _ = TransformersPolicy(TransformersOptions(model=str(tmp_path))).engine
    assert "\n" not in str(caught.value)


def test_a_failure_in_the_middle_leaves_no_stale_cache(tiny: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    model = tiny.model()
    policy = TransformersPolicy.of(model, tiny.tokenizer(), TransformersOptions())
    conversations = talk(policy, tiny, 5, count=6, turns=1, stay=1.0)
    forward, calls = policy.engine._forward, [0]

    def failing(tokens: Any, first: int = 0) -> Any:
        calls[0] += 1
        if calls[0] == 3:
            raise MemoryError
        return forward(tokens, first)

    monkeypatch.setattr(policy.engine, "_forward", failing)
    with pytest.raises(MemoryError):
        policy.complete(conversations, Sampling(1.0, 8, 5))
    policy.complete(conversations, Sampling(1.0, 8, 6))
    assert largest_gap(model, conversations) < 1e-4


@given(st.lists(st.integers(1, 3000), min_size=1, max_size=40))
def test_passes_hold_every_row_once_and_few_pads(lengths: list[int]) -> None:
    passes = lockstep.in_passes(lengths)
    assert sorted(n for rows in passes for n in rows) == list(range(len(lengths)))
    pads = [sum(max(lengths[m] for m in rows) - lengths[n] for n in rows) for rows in passes]
    assert max(pads) <= lockstep.PADS
    if sum(max(lengths) - n for n in lengths) <= lockstep.PADS:
        assert passes == [list(range(len(lengths)))], "nothing is moved for nothing"
    firsts = [max(lengths[n] for n in rows) for rows in passes]
    assert firsts == sorted(firsts, reverse=True)


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
def test_texts_in_passes_of_like_length_are_sampled_as_in_one(tiny: Any, attention: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model = tiny.model(3)
    model.set_attn_implementation(attention)
    policy = TransformersPolicy.of(model, tiny.tokenizer(), TransformersOptions())
    whole = [c.tokens.completion_ids for c in talk(policy, tiny, 6)]
    policy.release()
    monkeypatch.setattr(lockstep, "PADS", 3)
    forward, passes = policy.engine._forward, [0]

    def counting(tokens: Any, first: int = 0) -> Any:
        passes[0] += first > 0
        return forward(tokens, first)

    monkeypatch.setattr(policy.engine, "_forward", counting)
    conversations = talk(policy, tiny, 6)
    assert passes[0] > 3
    assert [c.tokens.completion_ids for c in conversations] == whole
    assert largest_gap(model, conversations) < 1e-4


def test_each_text_is_reported_when_it_is_complete(tiny: Any) -> None:
    policy = TransformersPolicy.of(tiny.model(), tiny.tokenizer(), TransformersOptions(max_context=60))
    conversations = [policy.begin(TASK, [{"role": "user", "content": f"w{n}"}], None, n) for n in range(12)]
    conversations.append(policy.begin(TASK, [{"role": "user", "content": " ".join(["w2"] * 70)}], None, 12))
    told: list[tuple[int, str]] = []
    lengths: list[int] = []

    def on_completion(n: int, text: str) -> None:
        told.append((n, text))
        lengths.append(sum(conversations[n].mask))
        assert conversations[n].messages[-1] == {"role": "assistant", "content": text}

    texts = policy.complete_streaming(conversations, Sampling(1.0, 30, 0), on_completion)
    assert lengths == sorted(lengths) and len(set(lengths)) > 3
    assert dict(told) == dict(enumerate(texts[:12])) and len(told) == 12 and texts[12] is None
