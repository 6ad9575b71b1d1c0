from coevolve.environments.bfcl.decode import Call
from coevolve.environments.bfcl.realizer import Made, word
from coevolve.environments.bfcl.request_lint import fault_in

LOOK = Made(Call("get_stock_info", {"symbol": "AAPL"}), {"price": 227.16, "volume": 2.552}, False)
BUY = Made(
    Call("place_order", {"order_type": "Buy", "symbol": "AAPL", "price": 227.16, "amount": 20}), {"order_id": 12446, "amount": 20}, True
)
SHOW = Made(Call("get_order_details", {"order_id": 12446}), {"id": 12446}, False)


def test_values_that_results_show_are_referred_to_and_what_supplies_them_is_not_worded() -> None:
    text = word([LOOK, BUY, SHOW])
    assert text is not None
    assert "20" in text and "AAPL" in text and "the current price" in text and "that order" in text
    assert "227.16" not in text and "12446" not in text
    alone = word([BUY])
    assert alone is not None and "$227.16" in alone, "nothing shows the price, so it must be said"
    later = word([SHOW], [BUY])
    assert later is not None and "that order" in later and "12446" not in later


def test_a_choice_among_several_is_said_and_an_older_thing_is_not_called_that_one() -> None:
    watched = Made(Call("get_watchlist"), {"watchlist": ["NVDA", "OMEG"]}, False)
    info = Made(Call("get_stock_info", {"symbol": "OMEG"}), {"price": 457.23}, False)
    text = word([info], [watched])
    assert text is not None and "OMEG" in text, "nothing tells which of the two is meant"
    alone = word([info], [Made(watched.call, {"watchlist": ["OMEG"]}, False)])
    assert alone is not None and "that stock" in alone and "OMEG" not in alone
    second = Made(BUY.call, {"order_id": 12447, "amount": 20}, True)
    assert word([SHOW], [BUY, second]) is None


def test_a_lookup_that_is_not_worded_names_what_it_looked_up() -> None:
    found = Made(Call("get_user_id", {"user": "Bob"}), {"user_id": "USR002"}, False)
    text = word([found, Made(Call("send_message", {"receiver_id": "USR002", "message": "Hi there."}), None, True)])
    assert text is not None and "Bob" in text and "USR002" not in text and "ID" not in text
    found = Made(Call("get_symbol_by_name", {"name": "Zeta Corp"}), {"symbol": "ZETA"}, False)
    text = word([found, Made(Call("get_stock_info", {"symbol": "ZETA"}), None, False)])
    assert text is not None and "Zeta Corp" in text and "ZETA" not in text
    listed = Made(Call("get_available_stocks", {"sector": "Technology"}), {"stock_list": ["AAPL", "NVDA"]}, False)
    text = word([listed, Made(Call("get_stock_info", {"symbol": "NVDA"}), None, False)])
    assert text is not None and "Technology" in text and "NVDA" in text, "the list does not tell which stock, so it must be asked for"


def test_small_ids_are_found_in_results_and_small_numbers_are_not() -> None:
    posted = Made(Call("post_tweet", {"content": "Hello"}), {"id": 3, "content": "Hello"}, True)
    text = word([Made(Call("retweet", {"tweet_id": 3}), None, True)], [posted])
    assert text is not None and "that tweet" in text and "3" not in text
    text = word([Made(Call("place_order", {**BUY.call.arguments, "amount": 3}), None, True)], [posted])
    assert text is not None and " 3 shares" in text


def test_the_same_calls_get_the_same_words() -> None:
    assert word([LOOK, BUY, SHOW]) == word([LOOK, BUY, SHOW])


def test_what_no_person_would_say_is_not_worded() -> None:
    assert word([Made(Call("place_order", {**BUY.call.arguments, "order_type": "Short"}), None, True)]) is None
    assert word([Made(Call("fly_away"), None, True)]) is None
    assert word([Made(Call("post_tweet", {"content": 'She said "no".'}), None, True)]) is None, "marks within marks"
    assert word([Made(Call("post_tweet", {"content": "two\nlines"}), None, True)]) is None
    wishes = [Made(Call("follow_user", {"username_to_follow": name}), None, True) for name in ("ann", "bea", "cleo", "dora", "eve")]
    assert word(wishes) is None and word(wishes[:4]) is not None
    assert word([]) is None


def test_values_are_written_as_people_write_them() -> None:
    text = word([Made(Call("fund_account", {"amount": 12500.0}), None, True)])
    assert text is not None and "$12,500" in text and "12,500.0" not in text
    text = word([Made(Call("post_tweet", {"content": "Hello", "tags": ["#a", "#b", "#c"]}), None, True)])
    assert text is not None and "#a, #b and #c" in text and '"Hello"' in text


def test_the_linter_finds_what_no_person_would_write() -> None:
    calls = [Call("authenticate_twitter", {"username": "dr_smith", "password": "pass_word"})]
    good = "I'm dr_smith and my password is 'pass_word', so log me in."
    assert fault_in(good, calls) is None
    for bad in (
        "",
        "One.\n\nTwo.",
        "log me in.",
        "Log me in",
        "Set order_type to Buy.",
        "Use fillFuelTank now.",
        "It is True.",
        "Give me {it}.",
        "Two  spaces.",
        "Buy shares of Quasar Ltd..",
        "Really?, yes.",
        "A" + "b" * 800 + ".",
    ):
        assert fault_in(bad, []) is not None, bad
    assert fault_in("Log me in as dr_smith.", []) is not None, "without the call that is an identifier from nowhere"
    assert fault_in("And then... well, show me 'order_type.txt'.", []) is None
