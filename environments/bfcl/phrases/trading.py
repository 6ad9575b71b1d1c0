"""Phrases of the brokerage account's functions."""

from ..realizer import Phrases

PHRASES = Phrases(
    functions={
        "get_current_time": ("tell me what time it is on the trading platform", "check the trading platform's clock"),
        "get_symbol_by_name": ("find out the ticker symbol of {name}", "look up which symbol {name} trades under"),
        "get_stock_info": ("tell me how {symbol} is trading at the moment", "look up the current numbers for {symbol}"),
        "get_order_details": ("show me how {order_id} stands", "give me the details of {order_id}"),
        "cancel_order": ("cancel {order_id}", "call off {order_id}"),
        "place_order": (
            "{order_type} {amount} shares of {symbol} at {price}",
            "put in an order to {order_type} {amount} shares of {symbol} at {price}",
        ),
        "fund_account": ("add {amount} to my brokerage account", "top up my brokerage account by {amount}"),
        "withdraw_funds": ("withdraw {amount} from my brokerage account", "move {amount} out of my brokerage account"),
        "get_account_info": ("tell me the balance of my brokerage account", "show me my brokerage account's balance and linked card"),
        "trading_login": (
            "sign me in to my brokerage account as {username} with the password {password}",
            "log me in to the trading platform, my user name is {username} and the password is {password}",
        ),
        "trading_get_login_status": (
            "check whether I'm still signed in to my brokerage account",
            "see if I'm logged in to the trading platform",
        ),
        "trading_logout": ("sign me out of my brokerage account", "log me out of the trading platform"),
        "remove_stock_from_watchlist": ("take {symbol} off my watchlist", "drop {symbol} from my stock watchlist"),
        "get_watchlist": ("show me my stock watchlist", "tell me which stocks are on my watchlist"),
        "add_to_watchlist": ("put {stock} on my stock watchlist", "add {stock} to my watchlist"),
        "get_order_history": ("list the orders in my brokerage account", "show me which orders I have in my trading history"),
        "get_transaction_history": (
            "list the deposits and withdrawals on my brokerage account",
            "list the transactions on my brokerage account from {start_date} on",
            "list the transactions on my brokerage account up to {end_date}",
            "list the transactions on my brokerage account from {start_date} to {end_date}",
        ),
        "get_available_stocks": (
            "tell me which stocks of the {sector} sector I can trade",
            "list the stocks on offer in the {sector} sector",
        ),
        "filter_stocks_by_price": (
            "filter {stocks} down to those priced between {min_price} and {max_price}",
            "tell me which of {stocks} cost between {min_price} and {max_price}",
        ),
        "notify_price_change": (
            "check {stocks} for price changes of {threshold} or more",
            "tell me whether there was a price change of at least {threshold} in {stocks}",
        ),
    },
    formats={
        "price": "${}",
        "amount": "${}",
        "place_order.amount": "{}",
        "min_price": "${}",
        "max_price": "${}",
        "threshold": "{} percent",
        "order_id": "order {}",
        "username": "'{}'",
        "password": "'{}'",
    },
    references={
        "price": "the current price",
        "order_id": "that order",
        "symbol": ("{name}", "that stock"),
        "stock": ("{name}", "that stock"),
        "stocks": "those stocks",
    },
    words={"place_order.order_type": {"Buy": "buy", "Sell": "sell"}},
)
