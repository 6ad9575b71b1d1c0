"""Phrases of the brokerage account's functions."""

from ..realizer import Phrases

PHRASES = Phrases(
    functions={
        "place_order": (
            "{order_type} {amount} shares of {symbol} at {price}",
            "put in an order to {order_type} {amount} {symbol} at {price} a share",
        ),
        "cancel_order": ("cancel {order_id}", "call off {order_id}"),
        "get_order_details": ("show me how {order_id} stands", "give me the details of {order_id}"),
    },
    formats={"price": "${}", "order_id": "order {}"},
    references={"price": "the current price", "order_id": "that order", "symbol": "that stock"},
    words={"place_order.order_type": {"Buy": "buy", "Sell": "sell"}},
)
