"""Chinese words by jieba, an extra that not every machine has."""

import pytest

from measures.metrics import lexical, make, score, tokenising


def test_without_jieba_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lexical, "has_jieba", lambda: False)
    for metric in ("token_f1", "rouge_l", "bleu_1", "meteor_2005"):
        with pytest.raises(ValueError, match=r"jieba \(make chinese\)"):
            score(metric, ["九点"], [["九点"]], tokeniser="jieba")
    assert make("token_f1").lacks() == ""


def test_only_its_own_scores_depend_on_its_version() -> None:
    assert make("token_f1", tokeniser="jieba").list_packages() == ("jieba",)
    assert make("token_f1").list_packages() == ()
    assert make("meteor_2005", tokeniser="jieba").list_packages() == ("nltk", "jieba")


def test_words_of_jieba() -> None:
    pytest.importorskip("jieba", reason="make chinese installs jieba")
    # The sentence of jieba's own introduction.
    assert tokenising.split_jieba("我来到北京清华大学") == ["我", "来到", "北京", "清华大学"]
    assert tokenising.split_jieba("渡轮 nine\n点。")[-1] == "。"
    # One of two words is shared, but four of six characters.
    pairs = (["北京清华大学", ""], [["上海清华大学"]] * 2)
    assert score("token_f1", *pairs, tokeniser="jieba").tolist() == [0.5, 0.0]
    assert score("token_f1", *pairs, tokeniser="characters")[0] == pytest.approx(4 / 6)
