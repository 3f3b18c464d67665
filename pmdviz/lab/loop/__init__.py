"""The live loop: steps in threads, frames that the browser acknowledges."""
