from typing import Any, cast

import attrs
import pytest
from shop import Shop, shop_task

from coevolve import Action, CandidateTask, Environment, Reason, Step, Task, TaskPool, Tool, Verdict
from coevolve.plugins.validators.ambiguity import Choice, _choices, _singled_out, _with
from coevolve.plugins.validators.leaks import answer_said, leaked_value
from coevolve.plugins.validators.request import Request, RequestOptions, _guesses
from coevolve.plugins.validators.tool_words import tool_words
from coevolve.plugins.validators.trace import Trace, TracedCall
from coevolve.plugins.validators.unasked import UnaskedCalls

SHOP = cast(Environment, Shop())
LIST: tuple[str, dict[str, Any]] = ("list_lamps", {})


def buy(item: str = "LX72", amount: int = 2) -> tuple[str, dict[str, Any]]:
    return "buy_item", {"item_id": item, "amount": amount}


def judge(task: Task, pool: Any = (), **options: Any) -> Verdict:
    return Request(RequestOptions(**options)).validate(CandidateTask(task), SHOP, TaskPool(tuple(pool)), ())


def one(text: str, *calls: tuple[str, dict[str, Any]]) -> Verdict:
    return judge(shop_task((text, calls)))


@pytest.mark.parametrize(
    "text",
    [
        "Which lamps do you have? I'd like two of the floor lamp.",
        "Show me your lamps and get me a pair of the most expensive one.",
        "Look through the lamps and buy two of the one that stands on the floor.",
    ],
)
def test_a_request_that_says_what_is_needed_is_accepted(text: str) -> None:
    assert one(text, LIST, buy()).accepted


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("Call list_lamps and buy two of the floor lamp.", "the tool list_lamps"),
        ("Show the lamps, then buy the floor lamp with amount=2.", "amount="),
        ("Show the lamps and set item_id to the floor lamp's, two of them.", "the argument item_id"),
        ("Put an item of the shop into the basket: two of the floor lamp from the lamps.", "quotes the document of buy_item"),
        ("Show the lamps, buy two of the floor lamp, and sort(order) them.", "the tool sort"),
    ],
)
def test_words_of_tools_are_refused(text: str, what: str) -> None:
    verdict = one(text, LIST, buy())
    assert verdict.reason == Reason.TOOL_NAMED and what in verdict.detail


def test_tool_names_that_are_words_and_values_that_look_like_names_are_no_tool_words() -> None:
    tools = [
        Tool("sort", "Sort a file.", {"properties": {"file_name": {}}}),
        Tool("echo", "Write.", {"properties": {"content": {}}}),
        Tool("ls", "List.", {"properties": {}}),
    ]
    actions = [Action("echo", {"content": "file_name"})]
    assert tool_words("Sort my notes and find the echo of the past; write file_name into it.", tools, actions) is None
    assert tool_words("Write file_name down.", tools, [Action("sort", {})]) == "it names the argument file_name"
    assert tool_words("Run the `sort` command.", tools, []) == "it names the tool sort"
    assert tool_words("What does ls say?", tools, []) == "it names the tool ls"
    assert tool_words("The tools of else, falls and calls.", tools, []) is None


def test_a_value_from_nowhere_is_refused() -> None:
    assert one("Which lamps do you have? I'd like some of the floor lamp.", LIST, buy(amount=7)).reason == Reason.UNGROUNDED
    assert one("Which lamps do you have? I'd like seven of the floor lamp.", LIST, buy(amount=7)).accepted


def test_an_enumerated_value_must_not_contradict_the_request() -> None:
    up: tuple[str, dict[str, Any]] = ("sort", {"order": "up"})
    down: tuple[str, dict[str, Any]] = ("sort", {"order": "down"})
    buying = "Buy two of LX72 and put the dearest at the top, so going "
    assert one(f"{buying}down.", buy(), down).accepted
    assert one("Buy two of LX72 and sort it, the dearest first.", buy(), down).accepted, "nothing is said against it"
    verdict = one(f"{buying}down.", buy(), up)
    assert verdict.reason == Reason.UNGROUNDED and "order is 'up', and the request says 'down'" in verdict.detail


def test_a_value_that_the_solution_finds_out_must_not_be_said() -> None:
    verdict = one("Look through the lamps and buy two of LX72, the floor lamp.", LIST, buy())
    assert verdict.reason == Reason.LEAKED and "'LX72' is said, which list_lamps finds out for buy_item" in verdict.detail
    assert one("Buy two of LX72, please.", buy()).accepted, "no call finds it out"


def test_a_call_that_nobody_asked_for_is_refused() -> None:
    verdict = one("Which lamps do you have? I'd like two of the floor lamp.", LIST, ("gift_cards", {}), buy())
    assert verdict.reason == Reason.UNASKED and "gift_cards, call 2 of 3" in verdict.detail
    assert one("Which lamps and gift cards do you have? I'd like two of the floor lamp.", LIST, ("gift_cards", {}), buy()).accepted
    assert one("Which lamps do you have and how much money is left? Two floor lamps then.", LIST, ("get_balance", {}), buy()).accepted
    assert one("Which of them are there?", ("gift_cards", {})).accepted, "the only call of a turn is what it asks for"


@pytest.mark.parametrize(
    "text",
    [
        "Which lamps do you have? Buy two of one of them.",
        "Show me the lamps and buy the nice one twice.",
        "Show your lamps. Get two of it.",
    ],
)
def test_another_reading_that_the_scorer_refuses_is_found_by_execution(text: str) -> None:
    verdict = one(text, LIST, buy())
    assert verdict.reason == Reason.AMBIGUOUS and "'LX71' for 'LX72'" in verdict.detail


def test_a_name_in_a_list_must_be_singled_out_in_its_own_turn() -> None:
    cards: tuple[str, list[tuple[str, dict[str, Any]]]] = ("Which gift cards are there?", [("gift_cards", {})])
    wrap: list[tuple[str, dict[str, Any]]] = [("wrap", {"card": "Wedding"})]
    assert judge(shop_task(cards, ("Wrap it with one of them.", wrap))).reason == Reason.AMBIGUOUS
    assert judge(shop_task(cards, ("It's for a wedding, wrap it with the right one.", wrap))).accepted
    assert judge(shop_task(cards, ("Wrap it with the second one.", wrap))).accepted


def test_each_check_can_be_switched_off() -> None:
    cases = {"ambiguity": "Show me the lamps and buy the nice one twice.", "linter": "Call list_lamps, buy two floor lamps."}
    for option, text in cases.items():
        task = shop_task((text, [LIST, buy()]))
        assert not judge(task).accepted and judge(task, **{option: False}).accepted


def test_a_frequent_call_that_solves_the_task_is_a_guess() -> None:
    task = shop_task(("Please buy two of LX72.", [buy()]))
    pool = [shop_task(("Two of LX72, and show me the lamps.", [buy(), LIST]), id=f"known-{n}") for n in range(2)]
    assert judge(task, pool).accepted, "the replay of its own solution is not a guess"
    padded = shop_task(("What's left of my money? And buy two of LX72.", [buy(), ("sort", {"order": "up"})]))
    assert judge(padded, pool, unasked=False).accepted
    loose = Task(task.id, "shop", task.query, "", (*task.solution, Action("gift_cards", {})), task.payload)
    assert judge(loose, pool, unasked=False).reason == Reason.SOLVED_BY_WRONG


def test_an_environment_that_fails_proves_nothing() -> None:
    broken = Task("x", "shop", "Buy it.", "", (Action("buy_item", {}),), {})
    assert judge(broken).reason == Reason.ENVIRONMENT_ERROR


BUDGET: tuple[str, dict[str, Any]] = ("get_balance", {})


def test_a_lookup_on_which_the_turn_makes_something_depend_is_asked_for() -> None:
    assert one("If my balance is over 100, buy two of LX72.", BUDGET, buy()).accepted
    assert one("Buy two of LX72.", BUDGET, buy()).reason == Reason.UNASKED, "nothing depends on it"


def test_a_code_within_a_name_is_not_said() -> None:
    def said(text: str) -> str | None:
        found = Step(Action("find", {"name": "Zeta Corp"}), "ZETA", {"symbol": "ZETA"})
        used = Step(Action("sell", {"symbol": "ZETA"}), "ok")
        return leaked_value(Trace((text,), (TracedCall(found, 0, 0), TracedCall(used, 0, 1))))

    assert said("Sell my Zeta Corp shares.") is None
    assert said("Look up Zeta Corp and sell ZETA.") is not None


@pytest.mark.parametrize(("value", "leaks"), [("deep_folder", False), ("notes.txt", False), ("ann@x.org", True), ("RMS", True)])
def test_what_a_lookup_returns_alone_leaks_unless_it_names_a_file(value: str, leaks: bool) -> None:
    found = Step(Action("look", {}), value, {"found": value})
    used = Step(Action("use", {"what": value}), "ok")
    told = Trace((f"Look there and use {value}.",), (TracedCall(found, 0, 0), TracedCall(used, 0, 1)))
    assert (leaked_value(told) is not None) is leaks


@pytest.mark.parametrize(
    ("answer", "guesses"), [(3, ["done", 0]), (1, [1, "1", "done", 0]), ("Yes", ["yes", "done", 0]), (0, [0, "0", "done", 1])]
)
def test_only_constants_that_may_be_accepted_are_tried(answer: Any, guesses: list[Any]) -> None:
    task = Task("q", "shop", "How many?", "", (Action("finish", {"answer": answer}),), {})
    tried = [guess[-1].arguments["answer"] for guess in _guesses(task, TaskPool(()))]
    assert tried == guesses


def choices(text: str, *calls: tuple[str, dict[str, Any], Any], ends: bool = False) -> list[Any]:
    """The values of calls with these results that the request leaves open."""
    made = [TracedCall(Step(Action(name, given), str(result), result), 0, n) for n, (name, given, result) in enumerate(calls)]
    made[-1] = attrs.evolve(made[-1], ends=ends)
    told = Trace((text,), tuple(made))
    return [
        choice.value for place, call in enumerate(made) for choice in _choices(told, place, call) if not _singled_out(told, call, choice)
    ]


ALL: tuple[str, dict[str, Any], Any] = ("airports", {}, ["RMS", "OKD"])
POSTS: tuple[str, dict[str, Any], Any] = ("posts", {}, [{"id": 4, "text": "Teams rock"}, {"id": 5, "text": "#Teamwork pays"}])


def test_a_lookup_that_needs_only_what_was_said_singles_its_result_out() -> None:
    near: tuple[str, dict[str, Any], Any] = ("nearest", {"city": "Rivermist"}, {"airport": "RMS"})
    fly: tuple[str, dict[str, Any], Any] = ("fly", {"to": "RMS"}, "ok")
    assert choices("Show the airports, then fly there, near Rivermist.", ALL, near, fly) == []
    assert choices("Show the airports, then fly to Rivermist.", ALL, fly) == ["RMS"]
    assert choices("Show the airports, then fly there.", ALL, near, fly) == ["RMS"], "nobody said the city"


def test_a_word_that_only_one_record_has_singles_it_out() -> None:
    like: tuple[str, dict[str, Any], Any] = ("like", {"post": 5}, "ok")
    assert choices("Like my post about 'Teamwork'.", POSTS, like) == []
    assert choices("Like my post about teams.", POSTS, like) == [5]


def test_an_answer_and_a_look_at_each_in_turn_are_not_left_open() -> None:
    end: tuple[str, dict[str, Any], Any] = ("finish", {"answer": 5}, "ok")
    assert choices("In which post do I brag?", POSTS, end, ends=True) == []
    assert choices("I brag in one of my posts. Which?", POSTS, end, ends=True) == []
    assert choices("Tell me one of my posts.", POSTS, end, ends=True) == [5]
    looks: list[tuple[str, dict[str, Any], Any]] = [("show", {"post": number}, "ok") for number in (5, 6)]
    assert choices("What do people say below my posts?", POSTS, *looks) == []
    assert choices("What do people say below it?", POSTS, looks[0]) == [5]


def test_not_anyone_leaves_nothing_to_choose() -> None:
    like: tuple[str, dict[str, Any], Any] = ("like", {"post": 5}, "ok")
    assert choices("Like whatever has not been liked by anyone.", POSTS, like) == []
    assert choices("Like whatever was written by anyone.", POSTS, like) == [5]


def test_a_property_that_several_things_have_is_not_a_thing_that_is_chosen() -> None:
    ring: tuple[str, dict[str, Any], Any] = ("ring", {"days": ["thu"]}, "ok")
    shared = [{"days": ["tue", "thu"]}, {"days": ["thu"]}]
    assert choices("Let it ring as the bins do.", ("alarms", {}, shared), ring) == []
    assert choices("Let it ring as the bins do.", ("alarms", {}, shared[:1]), ring) == ["thu"]


def test_two_things_with_one_number_are_not_mixed_up() -> None:
    solution = [Action("remove", {"song": 4, "playlist": 4}), Action("rename", {"playlist": 4, "title": "4"})]
    replaced = _with(solution, Choice(0, "playlist", 4, {}, ()), 9)
    assert [dict(action.arguments) for action in replaced] == [{"song": 4, "playlist": 9}, {"playlist": 9, "title": "4"}]


def test_a_change_made_of_several_said_values_is_asked_for() -> None:
    text = "Put X1 into the box B7, and open B7 and weigh X1."
    calls = [("stow", {"spot": "B7", "item": "X1"}), ("open", {"spot": "B7"}), ("weigh", {"item": "X1"})]
    made = [TracedCall(Step(Action(name, given), "ok"), 0, n) for n, (name, given) in enumerate(calls)]
    finder = UnaskedCalls(SHOP, 10)
    assert finder._evidence(Trace((text,), tuple(made)), made[0], made[1:])
    lone = TracedCall(Step(Action("stow", {"spot": "B7"}), "ok"), 0, 0)
    assert not finder._evidence(Trace((text,), (lone, *made[1:])), lone, made[1:])


@pytest.mark.parametrize(
    ("text", "result", "arguments", "said"),
    [
        ("My balance is 22,800 dollars. What is my balance?", {"balance": 22800.0}, {}, True),
        ("The report says 'Kelly scored 96'. What does it say?", {"text": "Kelly scored 96"}, {"file": "report"}, True),
        ("I have 22,800 dollars somewhere. What is my balance?", {"balance": 91.5}, {}, False),
        ("Is it 22,800 dollars or more?", {"balance": 22800.0, "card": 19}, {}, False),
        ("How many of the 5 are there?", {"count": 5}, {}, False),
        ("Round 12.0 for me.", {"result": 12.0}, {"number": 12.0}, False),
        ("My tank holds 50 gallons. Fill it up.", {"level": 50.0}, {"amount": 38.5}, False),
    ],
)
def test_a_question_must_not_state_its_answer(text: str, result: Any, arguments: dict[str, Any], said: bool) -> None:
    told = Trace((text,), (TracedCall(Step(Action("look", arguments), "", result), 0, 0),))
    assert (answer_said(told) is not None) == said


def test_an_answer_that_an_earlier_call_told_may_be_said() -> None:
    first = TracedCall(Step(Action("look"), "", {"balance": 22800.0, "card": 7}), 0, 0)
    again = TracedCall(Step(Action("balance"), "", {"balance": 22800.0}), 1, 1)
    assert answer_said(Trace(("What do I have?", "Is it still 22800?"), (first, again))) is None


@pytest.mark.parametrize(
    ("text", "names", "listed"),
    [
        ("Get the order details, then the stock info, then place an order.", ("get_order_details", "get_stock_info", "place_order"), True),
        ("Lock the doors, press the brake pedal and start the engine.", ("lockDoors", "pressBrakePedal", "startEngine"), True),
        ("Lock the doors and start the engine.", ("lockDoors", "pressBrakePedal", "startEngine"), False),
        ("Get the order details and place an order.", ("get_order_details", "place_order"), False),
        ("Sort it, find it and cat it.", ("sort", "find", "cat"), False),
    ],
)
def test_a_list_of_calls_in_plain_words_is_refused(text: str, names: tuple[str, ...], listed: bool) -> None:
    assert (tool_words(text, [], [Action(name) for name in names]) is not None) == listed
