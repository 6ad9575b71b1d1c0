"""Goals around the brokerage account: stocks, orders, the watchlist, money."""

from typing import Any

from .registry import goal
from .scene import Scene

BROKER = "TradingBot"
COMPANIES = {
    "AAPL": "Apple",
    "GOOG": "Google",
    "TSLA": "Tesla",
    "MSFT": "Microsoft",
    "NVDA": "Nvidia",
    "ZETA": "Zeta Corp",
    "ALPH": "Alpha Tech",
    "OMEG": "Omega Industries",
    "QUAS": "Quasar Ltd.",
    "NEPT": "Neptune Systems",
    "SYNX": "Synex Solutions",
    "AMZN": "Amazon",
}
"""The names that the service knows, by symbol."""


@goal(BROKER, topic="price")
def price_of_company(scene: Scene) -> str:
    symbol = scene.pick(s for s in COMPANIES if s in scene.service(BROKER).stocks)
    scene.call("get_symbol_by_name", name=COMPANIES[symbol])
    scene.call("get_stock_info", symbol=symbol)
    scene.keep("stock", symbol=symbol, name=COMPANIES[symbol])
    name = COMPANIES[symbol]
    return scene.say(
        f"How is {name} stock doing today? I'm thinking about getting in, but I want to see the numbers first.",
        f"I heard people at work talk about {name}. Can you look up what their shares go for at the moment?",
        f"Before the market gets busy, what's the current price of {name} shares?",
    )


@goal(BROKER, needs=("stock",), topic="buy")
def buy_the_stock(scene: Scene) -> str:
    stock = scene.last("stock")
    broker = scene.service(BROKER)
    scene.need(broker.authenticated)
    price = broker.stocks[stock["symbol"]]["price"]
    most = int(broker.account_info["balance"] // price)
    amount = scene.pick(n for n in (5, 10, 15, 20, 25, 40, 50, 100) if n <= most)
    order = scene.call("place_order", order_type="Buy", symbol=stock["symbol"], price=price, amount=amount)
    scene.keep("order", id=order["order_id"], symbol=stock["symbol"], amount=amount, name=stock["name"])
    return scene.say(
        f"That looks reasonable. Please buy {amount} shares at that price.",
        f"Good, I want in: get me {amount} shares at the price you just found.",
    )


@goal(BROKER, needs=("order",), topic="order details")
def check_the_order(scene: Scene) -> str:
    order: dict[str, Any] = scene.last("order")
    scene.call("get_order_details", order_id=order["id"])
    return scene.say(
        "Can you show me the details of that order, so that I can double-check everything went in right?",
        "Just to be safe, pull that order up again and let me know its status.",
    )
