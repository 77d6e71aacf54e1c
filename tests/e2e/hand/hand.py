"""The hand: it presses, taps, types and scrolls at random, and checks after each step what was recorded.

The rule: the option recorded is the one whose label was under the pointer when it went down, or that the
visible card showed for the key. Otherwise nothing is recorded, and the page says so.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from playwright.sync_api import Locator, Page
from playwright.sync_api import TimeoutError as BrowserTimeoutError

from asks.models import Ask, Verdict, Vote
from tests.e2e.hand import disturbances
from tests.e2e.hand.cards import MUST_BE_SEEN, Cast
from tests.e2e.hand.disturbances import Scene

WITNESS = (Path(__file__).parent / "witness.js").read_text(encoding="utf-8")
FEW = 4
SENTENCE = "subject the last 1 of 2 jokes"


@dataclass(frozen=True)
class Record:
    """An answer or a vote, as the database has it."""

    ask: int
    option: str


class Hand:
    """One person at one page."""

    def __init__(self, page: Page, cast: Cast, seed: int, *, touch: bool = False) -> None:
        self.page, self.touch, self.seed = page, touch, seed
        self.random = Random(seed)  # noqa: S311 -- reproducible, not secret
        self.scene = Scene(page, cast, self.random)
        self.cast = cast
        self.log: list[str] = []
        self.presses: list[dict[str, str]] = []
        self.typed: dict[int, str] = {}
        self.known = self._records()
        words = sorted({word for words in MUST_BE_SEEN.values() for word in words})
        page.add_init_script(f"{WITNESS}\nwindow.wordsToSee = {words!r};")
        self._cdp = page.context.new_cdp_session(page) if touch else None

    def work(self, steps: int) -> None:
        """Take so many steps. Raises AssertionError with the seed and the last steps."""
        self._fill_up()
        self.page.goto("/")
        self.page.wait_for_selector("[data-conn][data-state=live]", state="attached")
        for number in range(steps):
            self._fill_up()
            step = self.random.choice(
                (
                    self.press,
                    self.press,
                    self.press,
                    self.key,
                    self.key,
                    self.type_on,
                    self.edit,
                    self.scroll,
                )
            )
            try:
                step()
            except BrowserTimeoutError as error:  # what it reached for went away
                self.log.append(f"out of reach: {str(error)[:60]}")
            self._rest()
            self._check(number)

    # ---- steps ----

    def press(self) -> None:
        """Press or tap an option, once or twice, while something happens."""
        found = self._some_option()
        if found is None:
            return
        option, ask = found
        happens = self.random.choice(disturbances.ALL)
        again = self.random.random() < 0.4
        self.log.append(
            f"press {ask.pk} {option.get_attribute('value')} {happens.__name__} {again}"
        )
        x, y = self._reach(option)
        if x < 0:
            return
        self._down(x, y)
        happens(self.scene, ask)
        self.scene.wait()
        self._up()
        if again:
            self.random.choice(disturbances.ALL)(self.scene, ask)
            self.scene.wait()
            self._down(x, y)
            self._up()

    def key(self) -> None:
        """Move with J and K, then press a digit or Enter while something happens."""
        for _ in range(self.random.randint(0, 3)):
            self.page.keyboard.press(self.random.choice("jjk"))
        ask = Ask.objects.filter(status="open").order_by("?").first()
        if ask is None:
            return
        happens = self.random.choice(disturbances.ALL)
        digit = self.random.choice("1112239")
        self.log.append(f"key {digit} {happens.__name__} on {ask.pk}")
        happens(self.scene, ask)
        self.scene.wait()
        self.page.keyboard.press(digit)
        if self.random.random() < 0.3:
            self.page.keyboard.press(digit)

    def type_on(self) -> None:
        """Type a sentence into a field, while its card is settled: no letter of it may decide anything."""
        fields = self.page.locator(".card[data-open] textarea:visible")
        shown = fields.count()
        if not shown:
            return
        field = fields.nth(self.random.randrange(shown))
        card = self._card_of(field)
        ask = Ask.objects.filter(pk=card, status="open").first()
        if ask is None or not self._focus(field):
            return
        happens = self.random.choice(disturbances.ALL)
        self.log.append(f"type into {card} {happens.__name__}")
        middle = self.random.randrange(len(SENTENCE))
        before = len(self._witnessed())
        self.page.keyboard.type(SENTENCE[:middle])
        happens(self.scene, ask)
        self.scene.wait()
        self.page.keyboard.type(SENTENCE[middle:])
        self._rest()
        fresh = self._records() - self.known
        mine = {record for record in fresh if self._is_mine(record)}
        assert not mine, self._tell(f"typing recorded {mine} ({before} presses before)")
        self.page.keyboard.press("Escape")
        if self.page.url.rstrip("/").count("/") > 2:
            raise AssertionError(self._tell(f"typing left the page for {self.page.url}"))

    def edit(self) -> None:
        """Change the amount of a call; sometimes reload the page before it is approved."""
        fields = self.page.locator(".card[data-open] [name='edit/amount']")
        if not fields.count():
            return
        field = fields.first
        ask = self._card_of(field)
        fold = field.locator("xpath=ancestor::details[1]")
        if fold.get_attribute("open") is None:
            fold.locator("summary").click(timeout=3000)
        amount = str(self.random.randint(1, 47))
        field.fill(amount, timeout=3000)
        self.typed[ask] = amount
        self.log.append(f"edit {ask} to {amount}")
        if self.random.random() < 0.5:
            self.page.reload()
            self.page.wait_for_selector("[data-conn][data-state=live]", state="attached")
            self.log.append("reload")

    def scroll(self) -> None:
        """Scroll by a wheel, a jump to an end, or unfold something."""
        way = self.random.choice(("wheel", "end", "home", "unfold"))
        self.log.append(f"scroll {way}")
        if way == "wheel":
            self.page.mouse.wheel(0, self.random.choice((-600, 300, 600, 1200)))
        elif way == "unfold":
            folds = self.page.locator(".card [data-unfold]:visible, .card .bound summary:visible")
            if folds.count():
                folds.first.click(timeout=3000)
        else:
            self.page.evaluate("end => scrollTo(0, end ? 1e6 : 0)", way == "end")
        self.page.wait_for_timeout(50)

    # ---- the hand's parts ----

    def _some_option(self) -> tuple[Locator, Ask] | None:
        options = self.page.locator(".card [data-option]:visible")
        shown = options.count()
        if not shown:
            return None
        option = options.nth(self.random.randrange(shown))
        ask = Ask.objects.filter(pk=self._card_of(option)).first()
        return (option, ask) if ask else None

    def _card_of(self, inside: Locator) -> int:
        card = inside.evaluate("node => node.closest('.card').id", timeout=3000)
        return int(card.rpartition("-")[2])

    def _reach(self, option: Locator) -> tuple[float, float]:
        """Bring an option into the window and point at a random place of it."""
        option.evaluate("node => node.scrollIntoView({block: 'nearest'})", timeout=3000)
        self.page.wait_for_timeout(self.random.choice((0, 30, 600)))
        box = option.bounding_box(timeout=3000) if option.count() else None
        if box is None:
            return -1, -1
        x = box["x"] + box["width"] * self.random.uniform(0.1, 0.9)
        y = box["y"] + box["height"] * self.random.uniform(0.1, 0.9)
        return x, y

    def _focus(self, field: Locator) -> bool:
        x, y = self._reach(field)
        if x < 0:
            return False
        self._down(x, y)
        self._up()
        return bool(field.evaluate("node => document.activeElement === node", timeout=3000))

    def _down(self, x: float, y: float) -> None:
        if self._cdp is None:
            self.page.mouse.move(x, y)
            self.page.mouse.down()
        else:
            points = [{"x": x, "y": y}]
            self._cdp.send(
                "Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": points}
            )

    def _up(self) -> None:
        if self._cdp is None:
            self.page.mouse.up()
        else:
            self._cdp.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})

    def _rest(self) -> None:
        """Wait until no answer is under way."""
        self.page.wait_for_function(
            "() => !document.querySelector('[aria-busy=true], form.htmx-request')"
        )

    def _fill_up(self) -> None:
        while Ask.objects.filter(status="open").count() < FEW:
            self.scene.raise_one()

    # ---- the rule ----

    def _check(self, number: int) -> None:
        fresh = self._records() - self.known
        self.known |= fresh
        pressed = [press for press in self._witnessed() if press]
        new = pressed[len(self.presses) :] if len(pressed) >= len(self.presses) else pressed
        self.presses = pressed
        allowed = {Record(int(press["card"].rpartition("-")[2]), press["option"]) for press in new}
        mine = {record for record in fresh if self._is_mine(record)}
        assert mine <= allowed, self._tell(
            f"step {number}: {mine} was recorded, {allowed} was pressed"
        )
        for record in mine:
            self._check_approval(record)
        if new and not mine:
            assert self._says_something(), self._tell(
                f"step {number}: {allowed} did nothing, and no word"
            )

    def _check_approval(self, record: Record) -> None:
        """An approval covers words that were seen and the values that were typed last."""
        if record.option != "approve":
            return
        seen = set(self.page.evaluate("() => Array.from(witness.seen)"))
        for word in MUST_BE_SEEN.get(self.scene.kinds.get(record.ask, ""), ()):
            assert f"ask-{record.ask} {word}" in seen, self._tell(
                f"{word!r} of {record} was never seen"
            )
        verdict = Verdict.objects.filter(ask=record.ask).first()
        if record.ask in self.typed and verdict is not None:
            amount = (verdict.edit or {"edited": {"amount": 48}})["edited"]["amount"]
            assert str(amount) == self.typed[record.ask], self._tell(f"{record} covers {amount}")

    def _says_something(self) -> bool:
        places = ".toast, .note, .held, .card:not([data-open])"
        return self.page.locator(places).count() > 0

    def _witnessed(self) -> list[dict[str, str]]:
        found: list[dict[str, Any]] = self.page.evaluate("() => witness.presses")
        return found

    def _records(self) -> set[Record]:
        verdicts = Verdict.objects.values_list("ask_id", "option__key", "decided_by__username")
        votes = Vote.objects.values_list("ask_id", "option__key", "voter__username")
        self._by = {Record(ask, key): name for ask, key, name in [*votes, *verdicts]}
        return set(self._by)

    def _is_mine(self, record: Record) -> bool:
        return self._by.get(record) == self.cast.owner.get_username()

    def _tell(self, what: str) -> str:
        steps = "\n".join(self.log[-12:])
        return f"seed {self.seed}: {what}\n{steps}"
