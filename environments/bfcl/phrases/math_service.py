"""Phrases of the calculator's functions."""

from ..realizer import Phrases

_UNITS = {
    "km": "kilometers",
    "m": "meters",
    "cm": "centimeters",
    "mm": "millimeters",
    "um": "micrometers",
    "nm": "nanometers",
    "in": "inches",
    "ft": "feet",
    "yd": "yards",
    "miles": "miles",
    "kg": "kilograms",
    "lb": "pounds",
    "celsius": "degrees Celsius",
    "fahrenheit": "degrees Fahrenheit",
}

PHRASES = Phrases(
    functions={
        "logarithm": (
            "take the logarithm of {value} to base {base} with a precision of {precision} digits",
            "work out the base {base} logarithm of {value}, precise to {precision} digits",
        ),
        "mean": ("work out the average of {numbers}", "tell me the mean of {numbers}"),
        "standard_deviation": ("work out the standard deviation of {numbers}", "tell me the standard deviation of {numbers}"),
        "si_unit_conversion": ("convert {value} {unit_in} to {unit_out}", "tell me how many {unit_out} {value} {unit_in} are"),
        "imperial_si_conversion": ("convert {value} {unit_in} to {unit_out}", "tell me what {value} {unit_in} are in {unit_out}"),
        "add": ("add {a} and {b}", "tell me what {a} and {b} are together"),
        "subtract": ("subtract {b} from {a}", "tell me what is left when you take {b} from {a}"),
        "multiply": ("multiply {a} by {b}", "tell me how much {a} times {b} is"),
        "divide": ("divide {a} by {b}", "tell me how much {a} divided by {b} is"),
        "power": ("raise {base} to the power of {exponent}", "work out {base} to the power of {exponent}"),
        "square_root": (
            "work out the square root of {number} to {precision} digits",
            "take the square root of {number} with a precision of {precision} digits",
        ),
        "absolute_value": ("give me the absolute value of {number}", "tell me the absolute value of {number}"),
        "round_number": (
            "round {number} to {decimal_places} decimal places",
            "round {number} to a whole number",
            "give me {number} with {decimal_places} decimals",
        ),
        "percentage": ("tell me what percentage of {whole} {part} is", "work out how many percent {part} is of {whole}"),
        "min_value": ("find the smallest of {numbers}", "tell me the lowest of {numbers}"),
        "max_value": ("find the largest of {numbers}", "tell me the highest of {numbers}"),
        "sum_values": ("add up {numbers}", "tell me the total of {numbers}"),
    },
    references={name: "that figure" for name in ("value", "number", "a", "b", "base", "part", "whole")} | {"numbers": "those figures"},
    words={
        f"{function}.{unit}": _UNITS for function in ("si_unit_conversion", "imperial_si_conversion") for unit in ("unit_in", "unit_out")
    },
)
