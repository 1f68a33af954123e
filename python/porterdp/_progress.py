# SPDX-License-Identifier: Apache-2.0
"""A line that says how far a run is: in terminals, and in notebooks."""
import sys


def _in_notebook():
    shell = sys.modules.get("IPython")
    shell = shell.get_ipython() if shell else None
    return shell is not None and type(shell).__name__ == "ZMQInteractiveShell"


class Progress:
    """Nothing unless somebody looks: `show` None asks the terminal."""

    def __init__(self, rounds, show=None):
        self.rounds = rounds
        self.notebook = show is not False and _in_notebook()
        self.shown = bool(show) or self.notebook or (show is None and sys.stderr.isatty())
        self.last = ""
        self.handle = None

    def evaluated(self, row):
        loss, accuracy = row.get("loss"), row.get("test_accuracy")
        self.last = "".join([f"  loss {loss:.4g}" if loss is not None else "",
                             f"  test accuracy {100 * accuracy:.1f} %" if accuracy is not None else ""])

    def __call__(self, done):
        if not self.shown:
            return
        bar = "█" * int(24 * done / self.rounds)
        text = f"{bar:24s} {done} of {self.rounds} rounds{self.last}"
        if self.notebook:
            from IPython.display import HTML, display
            page = HTML(f"<pre style='margin:0'>{text}</pre>")
            if self.handle is None:
                self.handle = display(page, display_id=True)
            else:
                self.handle.update(page)
        else:
            print("\r" + text, end="", file=sys.stderr, flush=True)

    def close(self):
        if self.handle is not None:
            from IPython.display import HTML
            self.handle.update(HTML(""))
        if self.shown and not self.notebook:
            print("\r\033[K" if sys.stderr.isatty() else "\n", end="", file=sys.stderr, flush=True)
