"""Goals around stocks: prices, comparisons, sectors and the watchlist."""

import re
from collections.abc import Sequence
from typing import Any

from ..decode import Call
from .registry import goal
from .scene import Scene, Wording

BROKER = "TradingBot"
FAMOUS = {"AAPL": "Apple", "TSLA": "Tesla", "MSFT": "Microsoft", "NVDA": "Nvidia", "AMZN": "Amazon", "GOOG": "GOOG"}
"""Companies whose symbols everybody knows; Google has two, so people say which."""
OBSCURE = {
    "ZETA": "Zeta Corp",
    "ALPH": "Alpha Tech",
    "OMEG": "Omega Industries",
    "QUAS": "Quasar Ltd.",
    "NEPT": "Neptune Systems",
    "SYNX": "Synex Solutions",
}
"""Companies whose symbols must be looked up."""
_NAME_AT_THE_END = re.compile(r"Ltd\.(?:[.?!]|$| [A-Z])")


def broker(scene: Scene) -> Any:
    """The brokerage account's service, signed in. Raises NotHere where it is not."""
    service = scene.service(BROKER)
    scene.need(service.authenticated)
    return service


def say(scene: Scene, *wordings: Wording) -> str:
    """One of several wordings in which no sentence ends with "Ltd.": nobody could tell whether that full stop is part of the name."""
    return scene.say(*(one for one in wordings if not _NAME_AT_THE_END.search(one if isinstance(one, str) else one[0])))


def made_before(scene: Scene, name: str, /, **arguments: Any) -> bool:
    """Whether an earlier turn, or this one so far, made exactly this call."""
    return Call(name, arguments) in [*scene.earlier(), *scene.calls]


def touched(scene: Scene) -> set[Any]:
    """The stocks that the user spoke of so far; a further wish about one of them could contradict what was said."""
    return {call.arguments.get(name) for call in [*scene.earlier(), *scene.calls] for name in ("symbol", "stock")}


def choose(scene: Scene, besides: Sequence[str] = ()) -> str:
    """The symbol of a stock that is traded here and was not spoken of so far."""
    stocks, spoken = broker(scene).stocks, touched(scene)
    return scene.pick(symbol for symbol in [*FAMOUS, *OBSCURE] if symbol in stocks and symbol not in besides and symbol not in spoken)


def named(scene: Scene, symbol: str) -> str:
    """How the user names a stock; makes the call that finds its symbol out where the words do not tell it."""
    if symbol in FAMOUS:
        return FAMOUS[symbol]
    name = OBSCURE[symbol]
    on_view = scene.called("get_watchlist", "add_to_watchlist") and symbol in scene.service(BROKER).watch_list
    if on_view or scene.chance(0.3):
        return symbol
    scene.call("get_symbol_by_name", name=name)
    return name


def quote(scene: Scene, symbol: str) -> dict[str, Any]:
    """A stock's numbers; makes the call that finds them out, unless they were found out before."""
    if made_before(scene, "get_stock_info", symbol=symbol):
        return dict(scene.service(BROKER).stocks[symbol])
    return dict(scene.call("get_stock_info", symbol=symbol))


def discuss(scene: Scene, symbol: str, name: str, reference: str) -> None:
    """Leave a stock behind that the next turn can refer to."""
    scene.keep("stock", symbol=symbol, name=name, reference=reference, turn=len(scene.turns))


def referred(scene: Scene, thing: dict[str, Any]) -> str:
    """How the user refers to a stock or an order of an earlier turn: by a pronoun only right after it."""
    return str(thing["reference"] if thing["turn"] == len(scene.turns) - 1 else thing["name"])


def watched(scene: Scene) -> list[str]:
    """The symbols on the watchlist, found out by a call unless the user has seen them."""
    if scene.called("get_watchlist", "add_to_watchlist"):
        return list(scene.service(BROKER).watch_list)
    found = scene.call("get_watchlist")
    symbols = found["watchlist"] if isinstance(found, dict) else found
    scene.need(len(symbols) <= 5)
    return list(symbols)


@goal(BROKER, topic="price")
def price_of_company(scene: Scene) -> str:
    symbol = choose(scene)
    name = named(scene, symbol)
    quote(scene, symbol)
    discuss(scene, symbol, name, "it")
    return say(
        scene,
        (
            f"What does a share of {name} cost at the moment? I'm thinking about getting in, but I want to see the numbers first.",
            "cash=plenty",
        ),
        f"People at work keep talking about {name}. Can you look up what their shares are going for right now?",
        f"Before I decide anything, how is {name} stock trading today?",
        f"Can you pull up the latest stock numbers for {name}? My brother-in-law swears by it.",
        f"I've had my eye on {name} for a while. Where does the stock stand right now?",
    )


@goal(BROKER, topic="compare")
def better_day_of_two(scene: Scene) -> str:
    first = choose(scene)
    second = choose(scene, (first,))
    names = (named(scene, first), named(scene, second))
    changes = [quote(scene, symbol)["percent_change"] for symbol in (first, second)]
    scene.need(changes[0] != changes[1])
    best = int(changes[1] > changes[0])
    discuss(scene, (first, second)[best], names[best], "the one that had the better day")
    return say(
        scene,
        f"I can't decide between {names[0]} and {names[1]}. Which of the two stocks is having the better day in percentage terms?",
        f"Compare {names[0]} with {names[1]} for me: which one has the better percentage change today?",
        f"My sister bets on {names[0]}, I bet on {names[1]}. Whose stock is doing better today, percentage-wise?",
    )


@goal(BROKER, topic="average")
def watch_if_under_its_average(scene: Scene) -> str:
    service = broker(scene)
    symbol = choose(scene, service.watch_list)
    name = named(scene, symbol)
    seen = quote(scene, symbol)
    scene.need(isinstance(seen["MA(20)"], float) and seen["price"] != seen["MA(20)"])
    if seen["price"] < seen["MA(20)"]:
        scene.call("add_to_watchlist", stock=symbol)
    discuss(scene, symbol, name, "it")
    return say(
        scene,
        f"Is {name} trading below its 20-day average? If it is, put it on my watchlist; if not, leave the list alone.",
        (
            f"I like to catch dips: check {name}, and only if the price is under the 20-day moving average, add it to my watchlist.",
            "cash=plenty",
        ),
        f"Compare the price of {name} with its 20-day moving average. Only if the price is lower, add the stock to my watchlist.",
    )


@goal(BROKER, topic="sector")
def stocks_of_a_sector(scene: Scene) -> str:
    broker(scene)
    sector, plain = scene.pick([("Technology", "Technology"), ("Technology", "tech"), ("Automobile", "Automobile")])
    stocks = scene.call("get_available_stocks", sector=sector)["stock_list"]
    if sector == "Technology":
        scene.keep("sector", stocks=stocks)
    return say(
        scene,
        (f"I want to spread my money a little. Which stocks of the {plain} sector can I trade here?", "cash=plenty"),
        f"What's on offer in the {plain} sector? I'd like to see the list of available stocks.",
        (f"Show me the stocks that are available in the {plain} sector, I have some cash to invest.", "cash=plenty"),
    )


def _range(scene: Scene, stocks: Sequence[str]) -> tuple[int, int]:
    """A price range that some of the stocks are in and some are not."""
    prices = {symbol: scene.service(BROKER).stocks.get(symbol, {}).get("price", 0) for symbol in stocks}
    return scene.pick(
        (low, high)
        for low, high in ((50, 150), (100, 300), (200, 250), (200, 400), (300, 500), (500, 1000))
        if 0 < sum(low <= price <= high for price in prices.values()) < len(prices)
    )


@goal(BROKER, needs=("sector",), topic="filter")
def affordable_of_those(scene: Scene) -> str:
    stocks = scene.last("sector")["stocks"]
    scene.need(scene.turns[-1].goal == "stocks_of_a_sector")
    scene.suppose(cash="plenty")
    low, high = _range(scene, stocks)
    left = scene.call("filter_stocks_by_price", stocks=stocks, min_price=low, max_price=high)["filtered_stocks"]
    if len(left) == 1:
        discuss(scene, left[0], FAMOUS.get(left[0], left[0]), "the one that is left")
    return say(
        scene,
        f"Which of those could I get for ${low} to ${high} a share?",
        f"Too many for me. Can you narrow that list down to what costs between ${low} and ${high} a share?",
        f"I want to pay at least ${low} and at most ${high} a share. Which of them does that leave?",
    )


@goal(BROKER, topic="sector")
def affordable_tech(scene: Scene) -> str:
    broker(scene)
    scene.suppose(cash="plenty")
    stocks = scene.call("get_available_stocks", sector="Technology")["stock_list"]
    low, high = _range(scene, stocks)
    left = scene.call("filter_stocks_by_price", stocks=stocks, min_price=low, max_price=high)["filtered_stocks"]
    if len(left) == 1:
        discuss(scene, left[0], FAMOUS.get(left[0], left[0]), "that stock")
    return say(
        scene,
        f"I'd like to own something from the tech sector. Which of its stocks cost between ${low} and ${high} a share?",
        f"Which tech stocks could I buy here for ${low} to ${high} a share? I don't want to go above or below that.",
        f"My budget is ${low} to ${high} a share, and I want something from the tech sector. What are my options?",
    )


@goal(BROKER, topic="watchlist")
def show_watchlist(scene: Scene) -> str:
    scene.need(broker(scene).watch_list and not scene.called("get_watchlist", "add_to_watchlist"))
    symbols = watched(scene)
    if len(symbols) == 1:
        discuss(scene, symbols[0], FAMOUS.get(symbols[0], symbols[0]), "that stock")
    return say(
        scene,
        "I haven't looked in for weeks. What's on my watchlist?",
        "Remind me which stocks I'm watching at the moment.",
        "Show me my stock watchlist, please. I want to tidy it up later.",
    )


@goal(BROKER, topic="watchlist moves")
def best_on_watchlist(scene: Scene) -> str:
    scene.need(len(broker(scene).watch_list) > 1)
    symbols = watched(scene)
    changes = {symbol: quote(scene, symbol)["percent_change"] for symbol in symbols}
    best = max(symbols, key=lambda symbol: changes[symbol])
    scene.need(list(changes.values()).count(changes[best]) == 1)
    discuss(scene, best, FAMOUS.get(best, best), "the best performer")
    return say(
        scene,
        "Go through the stocks on my watchlist and tell me which one has the best percentage change today.",
        "Which of the stocks that I'm watching is doing best today, percentage-wise?",
        ("I want to put money into the strongest stock on my watchlist. Which one has gained the most in percent?", "cash=plenty"),
    )


@goal(BROKER, topic="watchlist moves")
def moves_on_watchlist(scene: Scene) -> str:
    service = broker(scene)
    known = all(symbol in service.stocks for symbol in service.watch_list)
    scene.need(service.watch_list and known)
    symbols = watched(scene)
    least = scene.pick([0.5, 1, 1.5, 2])
    scene.call("notify_price_change", stocks=symbols, threshold=least)
    return say(
        scene,
        f"Let me know if there's a price change of at least {least} percent in any of the stocks on my watchlist.",
        f"I only want to hear of real price changes. Notify me if any stock on my watchlist has moved by {least}% or more.",
        f"Is there any news on my watchlist? Alert me to every stock whose price has changed by {least} percent or more.",
    )


@goal(BROKER, needs=("stock",), topic="watchlist add")
def watch_the_stock(scene: Scene) -> str:
    stock = scene.last("stock")
    scene.need(stock["symbol"] not in broker(scene).watch_list and not scene.called("place_order"))
    scene.need(not scene.just("watch_if_under_its_average"))
    scene.call("add_to_watchlist", stock=stock["symbol"])
    it = referred(scene, stock)
    return say(
        scene,
        f"Not ready to buy yet. Put {it} on my watchlist so that I don't lose sight of it.",
        f"I'd like to follow that for a few days. Add {it} to my watchlist, please.",
        f"Interesting! Let's keep an eye on that: add {it} to my watchlist.",
    )


@goal(BROKER, topic="watchlist add")
def watch_a_company(scene: Scene) -> str:
    symbol = choose(scene, broker(scene).watch_list)
    name = named(scene, symbol)
    scene.call("add_to_watchlist", stock=symbol)
    discuss(scene, symbol, name, "it")
    return say(
        scene,
        f"There was a long article about {name} in the paper today. Add the stock to my watchlist, please.",
        f"Can you put {name} on my watchlist? I want to see how it does before their next earnings call.",
        f"I keep forgetting to check on {name}. It should go on my stock watchlist.",
    )


@goal(BROKER, topic="watchlist remove")
def unwatch_a_company(scene: Scene) -> str:
    service = broker(scene)
    spoken = touched(scene)
    symbol = scene.pick(symbol for symbol in service.watch_list if symbol not in spoken)
    name = FAMOUS.get(symbol, symbol)
    scene.call("remove_stock_from_watchlist", symbol=symbol)
    return say(
        scene,
        f"I've lost interest in {name}, so take it off my watchlist.",
        f"Please remove {name} from my watchlist. I sold the last of it ages ago and don't need to follow it anymore.",
        f"My watchlist needs a clean-up: {name} can go.",
    )


@goal(BROKER, needs=("stock",), topic="compare")
def compare_with_the_stock(scene: Scene) -> str:
    stock = scene.last("stock")
    scene.need(scene.turns[-1].goal == "price_of_company")
    other = choose(scene, (stock["symbol"],))
    scene.need(not made_before(scene, "get_stock_info", symbol=other))
    name = named(scene, other)
    quote(scene, other)
    discuss(scene, other, name, name)
    return say(
        scene,
        f"And what's {name} trading at? I'd like to compare the two.",
        f"Hm. Get me the same numbers for {name}, please, so that I can compare.",
        f"How does that look next to {name}? Pull up their stock as well.",
    )


@goal(BROKER, topic="clock")
def platform_clock(scene: Scene) -> str:
    broker(scene)
    scene.call("get_current_time")
    return say(
        scene,
        "My watch has stopped. What time is it on the trading platform? I want to be done before noon.",
        "What time does the trading system's clock show? I never know which time zone it uses.",
        "Tell me the current time in the trading system, please. I have a call with my adviser at eleven.",
    )
