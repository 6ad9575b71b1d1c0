"""Goals around orders: buying, selling, checking, changing, cancelling."""

from typing import Any

from .registry import goal
from .scene import Scene
from .trading import BROKER, broker, choose, made_before, named, quote, referred, say

AMOUNTS = (3, 5, 8, 10, 12, 15, 20, 25, 30, 40, 50, 75, 100)


def place(scene: Scene, kind: str, symbol: str, name: str, price: float, amount: int) -> None:
    """Place an order (kind: "Buy" or "Sell") and leave it behind."""
    order = scene.call("place_order", order_type=kind, symbol=symbol, price=price, amount=amount)
    scene.keep(
        "order",
        id=order["order_id"],
        side=kind,
        symbol=symbol,
        stock=name,
        price=price,
        amount=amount,
        name=f"the {name} order",
        reference="that order",
        turn=len(scene.turns),
    )


def _affordable(scene: Scene, price: float) -> int:
    """A number of shares that the balance pays for, beside the purchases of this story."""
    spent = sum(order["price"] * order["amount"] for order in scene.things.get("order", ()) if order["side"] == "Buy")
    left = broker(scene).account_info["balance"] - spent
    return scene.pick(amount for amount in AMOUNTS if amount * price <= left)


@goal(BROKER, needs=("stock",), topic="buy")
def buy_the_stock(scene: Scene) -> str:
    scene.suppose(cash="plenty")
    stock = scene.last("stock")
    ordered = {order["symbol"] for order in scene.things.get("order", ())}
    scene.need(stock["symbol"] not in ordered and stock["turn"] >= len(scene.turns) - 2)
    found = made_before(scene, "get_stock_info", symbol=stock["symbol"])
    price = quote(scene, stock["symbol"])["price"]
    amount = _affordable(scene, price)
    place(scene, "Buy", stock["symbol"], stock["name"], price, amount)
    it = referred(scene, stock)
    if scene.just("watch_the_stock", "watch_a_company"):
        return say(
            scene,
            f"Actually, I'd rather own some of it already. Buy {amount} shares of {stock['name']} at the current price.",
            f"On reflection, I don't want to wait: get me {amount} shares of {stock['name']} at today's price.",
        )
    if not found:
        scene.need(stock["turn"] == len(scene.turns) - 1 or scene.turns[-1].goal == "watch_the_stock")
        return say(
            scene,
            f"I'd like some of that one. Buy {amount} shares of {stock['name']} at the current price.",
            f"Okay, then get me {amount} shares of {stock['name']} at today's price.",
        )
    if it == "it":
        return say(
            scene,
            f"That looks reasonable. Please buy {amount} shares at that price.",
            f"Good, I want in: get me {amount} shares at the price you just found.",
            f"Fair enough. Order {amount} shares for me at that price.",
            f"I can live with that. Buy {amount} at the current price.",
        )
    return say(
        scene,
        f"Then buy {amount} shares of {it} at its current price, please.",
        f"All right, I'll go with {it}: {amount} shares at the price it has now.",
        f"Let's put some money into {it}. Buy {amount} shares at the current price.",
    )


@goal(BROKER, topic="buy")
def buy_at_market(scene: Scene) -> str:
    scene.suppose(cash="plenty")
    symbol = choose(scene, broker(scene).watch_list)
    name = named(scene, symbol)
    price = quote(scene, symbol)["price"]
    amount = _affordable(scene, price)
    place(scene, "Buy", symbol, name, price, amount)
    scene.leave_out(
        say(scene, f"Buy some shares of {name} for me at the current price, please.", f"I want {name} shares. Buy at today's price."),
        scene.say(f"{amount} shares, please.", f"Let's make it {amount} shares.", f"Get me {amount} of them."),
    )
    return say(
        scene,
        f"I got my bonus today and want to put part of it into {name}. Buy {amount} shares at the current price.",
        f"Please order {amount} shares of {name} for me at whatever they cost right now.",
        f"I've read enough about {name}, it's time to buy. Get me {amount} shares at the price they trade at now.",
        f"Could you buy {amount} {name} shares at today's price? They're for my daughter's savings.",
    )


@goal(BROKER, topic="buy")
def bid_below_market(scene: Scene) -> str:
    scene.suppose(cash="plenty")
    symbol = choose(scene)
    now = broker(scene).stocks[symbol]["price"]
    step = 5 if now > 100 else 1
    price = float(int(now * scene.pick([0.95, 0.97, 0.98])) // step * step)
    amount = _affordable(scene, price)
    name = named(scene, symbol)
    place(scene, "Buy", symbol, name, price, amount)
    scene.leave_out(
        say(scene, f"Put in a buy order for {amount} shares of {name} at my own limit price, not at the market price."),
        scene.say(f"I'd pay ${price:,.0f} a share.", f"My limit is ${price:,.0f} a share, so place it at that."),
    )
    return say(
        scene,
        f"I'm not paying more than ${price:,.0f} for a share of {name}. Put in a buy order for {amount} shares at exactly that price.",
        f"Place a buy order for {amount} shares of {name} at ${price:,.0f} each. If the price dips, I want to be ready.",
        f"I'd like to bid ${price:,.0f} a share for {amount} shares of {name}.",
    )


@goal(BROKER, topic="buy")
def buy_if_cheap(scene: Scene) -> str:
    scene.suppose(cash="plenty")
    symbol = choose(scene, broker(scene).watch_list)
    name = named(scene, symbol)
    price = quote(scene, symbol)["price"]
    limit = int(price * scene.pick([0.97, 1.02, 1.04])) // 5 * 5
    scene.need(limit > 0 and limit != price)
    amount = _affordable(scene, price)
    if price < limit:
        place(scene, "Buy", symbol, name, price, amount)
    else:
        scene.call("add_to_watchlist", stock=symbol)
    return say(
        scene,
        f"If {name} costs less than ${limit:,} a share, buy {amount} at the current price. If not, just add it to my watchlist.",
        f"Check {name} for me. Under ${limit:,} I'll take {amount} shares at the current price, otherwise it goes on my watchlist for now.",
        f"I'd pay up to ${limit:,} for {name}. Buy {amount} shares at today's price if it's below that, or else put it on my watchlist.",
    )


@goal(BROKER, topic="buy")
def spend_a_budget(scene: Scene) -> str:
    scene.suppose(cash="plenty")
    service = broker(scene)
    symbol = choose(scene)
    name = named(scene, symbol)
    price = quote(scene, symbol)["price"]
    budget = scene.pick(b for b in (1000, 1500, 2000, 3000, 5000, 7500) if 3 <= b / price <= 60 and b <= service.account_info["balance"])
    scene.need(not scene.called("place_order", "withdraw_funds"))
    amount = int(budget // price)
    place(scene, "Buy", symbol, name, price, amount)
    return say(
        scene,
        f"I've set aside ${budget:,} for {name}. Buy as many whole shares as that pays for at the current price.",
        f"How many whole {name} shares can I get for ${budget:,} at the current price? Buy exactly that many for me.",
        f"Put up to ${budget:,} into {name} at today's price. Whole shares only, and as many as the money covers.",
    )


@goal(BROKER, topic="sell")
def sell_at_market(scene: Scene) -> str:
    symbol = choose(scene)
    amount = scene.pick([4, 5, 6, 8, 10] if symbol == "AAPL" else [5, 8, 10, 15, 20, 30])
    name = named(scene, symbol)
    price = quote(scene, symbol)["price"]
    place(scene, "Sell", symbol, name, price, amount)
    scene.leave_out(
        say(
            scene,
            f"Please sell some of my {name} shares at the current price.",
            f"I want to part with a few {name} shares at today's price.",
        ),
        scene.say(f"Sell {amount} of them.", f"{amount} shares."),
    )
    return say(
        scene,
        (f"My roof needs fixing, so I have to part with some stock. Sell {amount} of my {name} shares at the current price.", "cash=short"),
        f"I'd like to take some profit on {name}. Please sell {amount} shares at the price they trade at now.",
        f"I'm too heavy in {name}. Sell {amount} of those shares for me at today's price, please.",
    )


@goal(BROKER, topic="sell")
def offer_above_market(scene: Scene) -> str:
    symbol = choose(scene)
    now = broker(scene).stocks[symbol]["price"]
    step = 5 if now > 100 else 1
    price = float((int(now * scene.pick([1.03, 1.05, 1.08])) // step + 1) * step)
    amount = scene.pick([4, 5, 6, 8, 10] if symbol == "AAPL" else [5, 8, 10, 15, 20])
    name = named(scene, symbol)
    place(scene, "Sell", symbol, name, price, amount)
    return say(
        scene,
        f"I'd let go of {amount} {name} shares, but only for ${price:,.0f} each. Put in a sell order at that price.",
        f"Place a sell order for {amount} of my {name} shares at ${price:,.0f} a share. I'm in no hurry.",
        f"Someone may pay ${price:,.0f} for a share of {name} one of these days. Offer {amount} of my shares at that price.",
    )


@goal(BROKER, needs=("order",), topic="order details")
def check_the_order(scene: Scene) -> str:
    order: dict[str, Any] = scene.last("order")
    it = referred(scene, order)
    scene.call("get_order_details", order_id=order["id"])
    return say(
        scene,
        f"Look up where {it} stands now, please.",
        f"Has {it} gone through yet? Check its current status.",
        f"I can't see {it} on my screen. What's its status in the system now?",
    )


@goal(BROKER, needs=("order",), topic="cancel")
def cancel_the_order(scene: Scene) -> str:
    scene.need(not scene.called("create_ticket"))
    order = scene.things["order"].pop()
    scene.call("cancel_order", order_id=order["id"])
    it = referred(scene, order)
    news = "a bad piece of news" if order["side"] == "Buy" else "good news"
    return say(
        scene,
        f"My adviser just called and talked me out of it. Cancel {it}, please.",
        f"I've just read {news} about {order['stock']}. Please cancel {it}, I'd rather wait.",
        f"Something came up and I have to hold off on this for now. Can you cancel {it}?",
    )


@goal(BROKER, needs=("order",), topic="cancel")
def change_the_amount(scene: Scene) -> str:
    scene.need(not scene.called("create_ticket"))
    order = scene.things["order"].pop()
    scene.need(order["turn"] >= len(scene.turns) - 2 and scene.turns[order["turn"]].goal != "spend_a_budget")
    amount = scene.pick(n for n in AMOUNTS if order["amount"] / 3 <= n <= 0.8 * order["amount"])
    scene.call("cancel_order", order_id=order["id"])
    place(scene, order["side"], order["symbol"], order["stock"], order["price"], amount)
    it, verb = referred(scene, order), order["side"].lower()
    return say(
        scene,
        f"Sorry, I meant {amount} shares, not {order['amount']}. Cancel {it} and place a new one for {amount} at the same price.",
        f"On second thought, {order['amount']} shares is too many. Cancel {it}, and {verb} {amount} instead at the same price.",
        f"I'd feel better with less. Cancel {it} and put in one for only {amount} shares at the same price.",
    )


@goal(BROKER, topic="order details")
def ask_for_order_by_number(scene: Scene) -> str:
    order = broker(scene).orders.get(12345)
    scene.need(order and not scene.called("get_order_history"))
    scene.call("get_order_details", order_id=12345)
    return say(
        scene,
        "I found a note that just says order 12345. Can you look it up and tell me what that was?",
        "What became of my order 12345? I never got a confirmation.",
        "For my tax papers I need the details of order 12345.",
    )


def _pending(scene: Scene) -> int:
    """The only order that is pending since before the story."""
    orders = broker(scene).orders
    scene.need(all(isinstance(number, int) for number in orders) and not scene.called("place_order", "cancel_order"))
    waiting: list[int] = [number for number, order in orders.items() if order["status"] == "Pending"]
    scene.need(len(waiting) == 1 and len(orders) > 1)
    return waiting[0]


@goal(BROKER, topic="pending")
def cancel_by_number(scene: Scene) -> str:
    number = _pending(scene)
    order = broker(scene).orders[number]
    scene.need(order["order_type"] == "Sell" and not scene.called("get_order_history"))
    scene.call("cancel_order", order_id=number)
    return say(
        scene,
        f"I want to hold on to my {order['symbol']} shares after all. Please cancel order {number}.",
        f"Order {number}, the one to sell {order['symbol']}, hasn't gone through yet and I've changed my mind. Cancel it.",
        f"Please call off my order {number}. I'm not selling {order['symbol']} at that price anymore.",
    )


@goal(BROKER, topic="pending")
def cancel_what_is_pending(scene: Scene) -> str:
    number = _pending(scene)
    scene.need(not scene.called("get_order_history", "get_order_details"))
    for found in scene.call("get_order_history")["history"]:
        scene.call("get_order_details", order_id=found)
    scene.call("cancel_order", order_id=number)
    return say(
        scene,
        "I'm going on a long trip and don't want anything left open. Go through all my orders, and cancel whichever is still pending.",
        "Please check every order in my history. If one of them is still pending, cancel it.",
        "Look through each of my past orders and cancel the one that is still pending. I've lost track of it.",
    )


@goal(BROKER, topic="pending")
def list_orders(scene: Scene) -> str:
    _pending(scene)
    history = scene.call("get_order_history")["history"]
    scene.keep("orders", ids=history)
    return say(
        scene,
        "Which orders do I have on record? The order numbers are enough.",
        "List the numbers of all orders in my order history, please. My accountant asked for them.",
        "I'm going over my paperwork. What order numbers are there in my trading history?",
    )


@goal(BROKER, needs=("orders",), topic="order details")
def newest_of_the_orders(scene: Scene) -> str:
    ids = scene.last("orders")["ids"]
    scene.need(scene.turns[-1].goal == "list_orders")
    ends = [("highest", max(ids)), ("lowest", min(ids))]
    waiting = [one for one in ends if broker(scene).orders[one[1]]["status"] == "Pending"]
    which, number = scene.pick(waiting if waiting and scene.chance(0.7) else ends)
    order = scene.call("get_order_details", order_id=number)
    if order["status"] == "Pending":
        scene.keep("waiting", id=number, symbol=order["symbol"])
    return say(
        scene,
        f"Tell me more about the one with the {which} number.",
        f"What was the one with the {which} number about? Show me its details.",
        f"Open the order with the {which} number for me, please.",
    )


@goal(BROKER, needs=("waiting",), topic="cancel")
def cancel_the_waiting_order(scene: Scene) -> str:
    order = scene.last("waiting")
    scene.need(scene.turns[-1].goal == "newest_of_the_orders")
    scene.call("cancel_order", order_id=order["id"])
    return say(
        scene,
        "Still pending, after all this time? Cancel it, please.",
        "If that one hasn't gone through by now, I'd rather not wait any longer. Please cancel it.",
        f"I don't want to part with {order['symbol']} anymore. Cancel that order.",
    )
