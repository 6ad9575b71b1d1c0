"""Goals around the brokerage account itself: its balance, deposits, withdrawals, and being signed in."""

from .registry import goal
from .scene import Scene
from .trading import BROKER, broker, choose, named, quote, say
from .trading_orders import place

_DEPOSITS = (500, 800, 1200, 1500, 2000, 2500, 4000, 5000)


@goal(BROKER, topic="balance")
def balance(scene: Scene) -> str:
    broker(scene)
    scene.need(not scene.called("fund_account", "withdraw_funds", "place_order"))
    scene.call("get_account_info")
    scene.keep("balance", turn=len(scene.turns))
    return say(
        scene,
        "How much money is in my brokerage account right now?",
        "I'm doing my monthly budget. What's the balance of my trading account?",
        "Before I do anything, tell me what I have available in my brokerage account.",
    )


@goal(BROKER, topic="card")
def linked_card(scene: Scene) -> str:
    broker(scene)
    scene.need(not scene.called("get_account_info"))
    scene.call("get_account_info")
    scene.keep("balance", turn=len(scene.turns))
    return say(
        scene,
        "My bank is sending me a new card. Which card number is linked to my brokerage account at the moment?",
        "Can you check which card is connected to my trading account, and what the balance is?",
    )


@goal(BROKER, topic="deposit")
def deposit(scene: Scene) -> str:
    scene.suppose(cash="plenty")
    broker(scene)
    scene.need(not scene.called("withdraw_funds"))
    amount = scene.pick(_DEPOSITS)
    scene.call("fund_account", amount=amount)
    scene.keep("movement", what="deposit", turn=len(scene.turns))
    scene.leave_out(
        scene.say("Please add some money to my brokerage account.", "I'd like to top up my trading account."),
        scene.say(f"${amount:,}, please.", f"I was thinking of ${amount:,}."),
    )
    return say(
        scene,
        f"My tax refund came in. Add ${amount:,} to my brokerage account.",
        f"Please top up my trading account by ${amount:,}, I'm planning to invest more this month.",
        f"I'd like to move ${amount:,} into my brokerage account for a rainy day.",
        f"Payday! Put ${amount:,} into my trading account, please.",
    )


@goal(BROKER, topic="withdrawal")
def withdraw(scene: Scene) -> str:
    scene.suppose(cash="short")
    service = broker(scene)
    scene.need(not scene.called("fund_account", "place_order"))
    amount = scene.pick(n for n in _DEPOSITS if n <= service.account_info["balance"] / 3)
    scene.call("withdraw_funds", amount=amount)
    scene.keep("movement", what="withdrawal", turn=len(scene.turns))
    scene.leave_out(
        scene.say(
            "I need some cash from my brokerage account. Please withdraw it for me.", "Take some money out of my trading account, please."
        ),
        scene.say(f"Make it ${amount:,}.", f"${amount:,} will do."),
    )
    return say(
        scene,
        f"My car needs new brakes. Take ${amount:,} out of my brokerage account.",
        f"Please withdraw ${amount:,} from my trading account, I need it for the rent.",
        f"We've booked a holiday, so I need ${amount:,} in cash from my brokerage account.",
    )


@goal(BROKER, topic="withdrawal")
def withdraw_the_surplus(scene: Scene) -> str:
    scene.suppose(cash="short")
    service = broker(scene)
    scene.need(not scene.called("fund_account", "place_order", "withdraw_funds"))
    have = service.account_info["balance"]
    rest = scene.pick(n for n in (3000, 5000, 8000, 10000, 20000) if n < have <= 8 * n)
    if not scene.called("get_account_info"):
        scene.call("get_account_info")
    scene.call("withdraw_funds", amount=round(have - rest, 2))
    scene.keep("movement", what="withdrawal", turn=len(scene.turns))
    return say(
        scene,
        f"I never want more than ${rest:,} sitting in my brokerage account. Withdraw whatever is above that.",
        f"Leave exactly ${rest:,} in my trading account and withdraw the rest, please. I'm paying off a loan.",
        f"I'm lending my sister some money, so withdraw everything above ${rest:,} from my brokerage account, please.",
    )


@goal(BROKER, needs=("movement",), topic="transactions")
def is_it_booked(scene: Scene) -> str:
    movement = scene.last("movement")
    scene.call("get_transaction_history")
    what = movement["what"]
    return say(
        scene,
        f"Does the {what} show up in my transaction history already?",
        f"Show me my transaction history, I want to see the {what} in black and white.",
        f"Now list all the transactions on the account, so that I can check the {what} against my own notes.",
    )


@goal(BROKER, topic="transactions")
def transactions_of_a_month(scene: Scene) -> str:
    history = broker(scene).transaction_history
    scene.need(history and all(entry["timestamp"].startswith("2024-10") for entry in history))
    scene.call("get_transaction_history", start_date="2024-10-01", end_date="2024-10-31")
    return say(
        scene,
        "What transactions were there on my trading account from October 1 to October 31, 2024?",
        "I'm sorting my statements. Show me the transaction history of my brokerage account for October 2024, from the 1st to the 31st.",
    )


@goal(BROKER, topic="buy")
def fund_and_buy(scene: Scene) -> str:
    scene.suppose(cash="plenty")
    have = broker(scene).account_info["balance"]
    scene.need(not scene.called("place_order", "withdraw_funds", "fund_account"))
    symbol = choose(scene)
    price = broker(scene).stocks[symbol]["price"]
    amount = scene.pick(n for n in (20, 30, 40, 50, 60, 80, 100, 120) if 1.02 * have < n * price < 1.8 * have)
    extra = int(amount * price - have) // 1000 * 1000 + 1000
    name = named(scene, symbol)
    scene.call("fund_account", amount=extra)
    quote(scene, symbol)
    place(scene, "Buy", symbol, name, price, amount)
    return say(
        scene,
        f"I need more cash first: deposit ${extra:,} into my brokerage account, then buy {amount} shares of {name} at the current price.",
        f"Move ${extra:,} into my trading account first. With that I can afford {amount} {name} shares, so buy them at today's price.",
        f"My savings bond paid out ${extra:,}. Add it to my trading account and get me {amount} shares of {name} at today's price.",
    )


@goal(BROKER, needs=("trading session",), topic="session check")
def check_the_session(scene: Scene) -> str:
    scene.need(scene.turns[-1].goal == "sign_in_again")
    scene.call("trading_get_login_status")
    return say(
        scene,
        "Nothing has changed on my screen. Can you double-check my login status on the trading platform?",
        "Did that really work? Check the login status once more, please.",
    )


@goal(BROKER, topic="session")
def sign_out(scene: Scene) -> str:
    broker(scene)
    scene.call("trading_logout")
    return say(
        scene,
        "I'm on a computer at the library, so please log me out of the trading platform before I leave.",
        "That's all for today. Sign me out of my brokerage account."
        if not scene.first
        else "Please sign me out of my brokerage account, my kids use this tablet too.",
        "I don't want to be tempted to trade any more today. Log me out of my brokerage account.",
    )


@goal(BROKER, topic="session")
def sign_in_again(scene: Scene) -> str:
    broker(scene)
    user, password = scene.pick(
        [("m.keller", "Harvest-Moon-41"), ("jordan.reyes", "Blue!Kettle9"), ("t_okafor", "Pine7Lantern"), ("a.lindqvist", "Otter&Oak22")]
    )
    scene.call("trading_logout")
    scene.call("trading_login", username=user, password=password)
    scene.keep("trading session")
    return say(
        scene,
        f"I've just changed the password of my brokerage account. Sign me out and back in as '{user}' with the new password '{password}'.",
        f"The trading platform wants a fresh session. Log me out, then log me in again as '{user}' with the password '{password}'.",
    )
