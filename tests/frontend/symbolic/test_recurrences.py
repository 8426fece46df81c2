"""Closed forms of carried values against the loop itself, step by step."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping

import pytest

from tileverify.contract.terms import (
    FALSE,
    ONE,
    TRUE,
    ZERO,
    Function,
    Scope,
    Sort,
    Term,
    TermKind,
    add,
    and_,
    const,
    eq,
    floormod,
    ite,
    lt,
    mul,
    not_,
    or_,
    postorder,
    scale,
    sub,
    var,
    wrap,
)
from tileverify.contract.terms.evaluate import evaluate
from tileverify.contract.variables import BID
from tileverify.frontend.symbolic.recurrences import Recurrence, Recurrences, placeholder

K = var("k", Scope.ITERATION, 0, 6)
N = var("n", Scope.LAUNCH, -(2**31), 2**31 - 1)


def stand_in(index: int, sort: Sort = Sort.INT, bits: int = 8) -> Term:
    """The placeholder of carried value ``index``."""
    half = 1 << (bits - 1)
    low, high = (-half, half - 1) if sort is Sort.INT else (None, None)
    return placeholder(f"v{index}", sort, low, high, ())


def solve(*carried: tuple[Term, Term, Term]) -> Recurrences:
    """(placeholder, init, next) of every value."""
    return Recurrences(K, [Recurrence(now, init, step, (), ()) for now, init, step in carried])


V0, V1 = stand_in(0), stand_in(1)
FLAG = stand_in(9, Sort.BOOL)


def test_unchanged() -> None:
    assert solve((V0, N, V0)).at(K) == [N]


def test_stepped() -> None:
    assert solve((V0, const(3), wrap(8, add(V0, const(5))))).at(K) == [add(const(3), scale(5, K))]
    (form,) = solve((V0, const(100), wrap(8, add(V0, const(5))))).at(K)
    assert form is wrap(8, add(const(100), scale(5, K)))


def test_a_form_behind_the_loop_wraps_where_one_inside_cannot() -> None:
    """k <= 6 inside, so 121 + k fits; behind the loop k is 7 and it does not."""
    numbers = solve((V0, const(121), wrap(8, add(V0, ONE))))
    assert numbers.at(K) == [add(const(121), K)]
    assert numbers.at(const(7)) == [const(-128)]


def test_rotated() -> None:
    numbers = solve((V0, const(1), V1), (V1, const(2), wrap(8, add(V1, const(3)))))
    assert numbers.at(K) == [ite(eq(K, ZERO), ONE, sub(scale(3, K), ONE)), add(const(2), scale(3, K))]


def test_next_of_the_iteration_number() -> None:
    assert solve((V0, ZERO, scale(2, add(K, ONE)))).at(K) == [scale(2, K)]
    assert solve((V0, const(9), scale(2, K))).at(K) == [ite(eq(K, ZERO), const(9), scale(2, sub(K, ONE)))]


def unknowns(term: Term) -> list[Function]:
    return [part.function for part in postorder(term) if part.kind is TermKind.APPLY]


def test_swapped_values_alternate() -> None:
    first, second = solve((V0, N, V1), (V1, const(2), V0)).at(K)
    assert first is ite(eq(floormod(K, const(2)), ZERO), N, const(2))
    assert second is ite(eq(floormod(K, const(2)), ZERO), const(2), N)


def test_a_difference_alternates() -> None:
    (form,) = solve((V0, N, sub(const(5), V0))).at(K)
    assert form is ite(eq(floormod(K, const(2)), ZERO), N, sub(const(5), N))


def test_a_stage_starts_over() -> None:
    """Written as a remainder, and with an ``if``."""
    (form,) = solve((V0, ZERO, floormod(add(V0, ONE), const(3)))).at(K)
    assert form is floormod(K, const(3))
    later = wrap(8, add(V0, ONE))
    (form,) = solve((V0, const(1), ite(eq(later, const(4)), ONE, later))).at(K)
    assert form is add(floormod(K, const(3)), ONE)


def test_what_comes_before_a_cycle_is_told_apart() -> None:
    numbers = solve((V0, ONE, wrap(8, scale(4, V0))))
    assert not unknowns(numbers.at(K)[0])
    assert [numbers.at(const(time))[0].value for time in range(7)] == [1, 4, 16, 64, 0, 0, 0]


def test_a_cycle_needs_all_values_that_it_looks_at() -> None:
    """V0 looks at V1, which looks at the iteration number."""
    first, _ = solve((V0, ZERO, sub(V1, V0)), (V1, ONE, wrap(8, add(mul(V1, K), ONE)))).at(K)
    assert unknowns(first)


def test_a_long_cycle_is_no_form() -> None:
    (form,) = solve((V0, ONE, wrap(8, mul(V0, const(3))))).at(K)
    assert unknowns(form)


def test_an_unknown_multiple_stays_a_multiple() -> None:
    times = var("x", Scope.BLOCK, -128, 127)
    (form,) = solve((V0, const(3), wrap(8, add(V0, scale(16, times), scale(16, K))))).at(K)
    assert floormod(form, const(16)) is const(3)
    assert (form.low, form.high) == (-125, 115)


def test_a_maximum_stays_in_the_range_of_what_it_has_seen() -> None:
    seen = var("x", Scope.BLOCK, 0, 9)
    (form,) = solve((V0, const(-1), ite(lt(V0, seen), seen, V0))).at(K)
    assert (form.low, form.high) == (-1, 9)


def test_a_counter_that_may_wrap_has_no_range() -> None:
    (form,) = solve((V0, ZERO, ite(lt(N, K), wrap(8, add(V0, ONE)), V0))).at(K)
    assert (form.low, form.high) == (-128, 127)


def test_few_iterations_are_run_out() -> None:
    numbers = solve((V0, ONE, wrap(8, mul(V0, const(3)))))
    assert [numbers.at(const(t))[0].value for t in range(7)] == [1, 3, 9, 27, 81, -13, -39]
    assert unknowns(numbers.at(K)[0])


def test_an_exit_flag_keeps_what_was_stepped_until_then() -> None:
    broke = eq(K, N)
    done = or_(FLAG, and_(not_(FLAG), broke))
    value = stand_in(1)
    step = ite(FLAG, value, ite(broke, value, wrap(8, add(value, const(2)))))
    flag, form = solve((FLAG, FALSE, done), (value, ZERO, step)).at(K)
    assert form.kind is TermKind.ITE
    assert form.args[0] is flag
    assert form.args[2] is scale(2, K)


def test_a_flag_that_may_fall_back_is_no_exit_flag() -> None:
    value = stand_in(1)
    _, form = solve((FLAG, FALSE, not_(FLAG)), (value, ZERO, ite(FLAG, value, wrap(8, add(value, const(2)))))).at(K)
    assert scale(2, K) not in list(postorder(form))


def test_nvcc_counts_from_the_second_iteration_on() -> None:
    first = stand_in(1)
    counted = ite(eq(first, ZERO), wrap(8, add(V0, ONE)), V0)
    numbers = solve((V0, ZERO, counted), (first, ONE, ZERO))
    form, flag = numbers.at(K)
    assert flag is ite(eq(K, ZERO), ONE, ZERO)
    assert [evaluate(form, {K: k}) for k in range(6)] == [0, 0, 1, 2, 3, 4]


def test_products_of_the_iteration_number_are_not_steps() -> None:
    (form,) = solve((V0, ZERO, wrap(8, add(V0, K)))).at(K)
    assert form.kind is TermKind.ITE
    assert form.args[2].function.scope is Scope.LAUNCH


@pytest.mark.parametrize(
    ("carried", "alike"),
    [
        ([(V0, ZERO, wrap(8, add(V0, K, K)))], [True]),
        ([(V0, BID[0], wrap(8, add(V0, K)))], [False]),
        ([(V0, ZERO, wrap(8, add(V0, mul(K, BID[0]))))], [False]),
        ([(V0, ZERO, wrap(8, add(V0, mul(K, K)))), (V1, BID[0], wrap(8, add(V1, V0)))], [True, False]),
        ([(V0, ZERO, wrap(8, add(V0, V1, K))), (V1, ONE, wrap(8, add(V1, mul(K, V0))))], [True, True]),
        ([(V0, ZERO, wrap(8, add(V0, V1, K))), (V1, ONE, wrap(8, add(V1, mul(K, V0), BID[1])))], [False, False]),
    ],
)
def test_values_that_are_the_same_in_all_blocks(carried: list[tuple[Term, Term, Term]], alike: list[bool]) -> None:
    numbers = solve(*carried)
    scopes = [function.scope for _, function, _ in numbers.fresh]
    assert scopes == [Scope.LAUNCH if same else Scope.BLOCK for same in alike]


# ----------------------------------------------------------------------------------- against the loop itself
def random_step(rng: random.Random, own: Term, others: list[Term], flags: list[Term]) -> Term:
    choices = [
        own,
        rng.choice(others),
        wrap(8, add(own, const(rng.randrange(-60, 60)))),
        wrap(8, sub(own, const(rng.randrange(-60, 60)))),
        wrap(8, add(own, N)),
        scale(3, K),
        wrap(8, mul(own, const(3))),
        wrap(8, add(rng.choice(others), ONE)),
        wrap(8, add(own, K)),
    ]
    step = rng.choice(choices)
    if rng.random() < 0.4:
        condition = rng.choice([*flags, lt(K, const(2)), eq(K, ZERO), lt(own, const(5)), lt(N, ZERO)])
        step = ite(condition, rng.choice([own, rng.choice(choices)]), step)
    return step


@pytest.mark.parametrize("seed", range(400))
def test_forms_are_what_the_loop_computes(seed: int) -> None:
    rng = random.Random(seed)
    count = rng.randrange(1, 4)
    flag = stand_in(9, Sort.BOOL)
    values = [stand_in(i) for i in range(count)]
    made = []
    for own in values:
        init = rng.choice([const(rng.randrange(-128, 128)), wrap(8, N)])
        step = random_step(rng, own, values, [flag])
        made.append(Recurrence(own, init, step, (), ()))
    raised = rng.choice([or_(flag, eq(K, const(3))), or_(flag, lt(const(20), values[0])), not_(flag), flag])
    made.append(Recurrence(flag, rng.choice([FALSE, TRUE]), raised, (), ()))
    solved = Recurrences(K, made)
    n = rng.choice([0, 3, -7, 2**31 - 1, -(2**31)])
    history = simulate(made, n, 12)

    def functions(function: Function, args: tuple[int | bool, ...]) -> int | bool:
        """Fresh functions are whatever the loop computes: (value - rest) / modulus, and in their range."""
        place = [item.name for item in made].index(function.name.split(".")[0])
        value = history[int(args[-1])][place]
        if function.sort is Sort.BOOL:
            return value
        modulus, rest = 1, 0
        if "mod" in function.name:
            rest, modulus = map(int, function.name.rsplit(".", 1)[1].split("mod"))
        assert (value - rest) % modulus == 0
        assert function.low is not None
        assert function.high is not None
        assert function.low <= (value - rest) // modulus <= function.high
        return (value - rest) // modulus

    for k in range(8):
        inside = k <= 6
        forms = solved.at(K) if inside else solved.at(const(k))
        found = [evaluate(form, {K: k, N: n}, functions) for form in forms]
        assert found == history[k], f"at {k}"
        assert [evaluate(form, {N: n}, functions) for form in solved.at(const(k))] == history[k]


def looked_up(state: Mapping[Function, int | bool]) -> Callable[[Function, tuple[int | bool, ...]], int | bool]:
    return lambda function, _: state[function]


def simulate(items: list[Recurrence], n: int, times: int) -> list[list[int | bool]]:
    now = [evaluate(item.init, {N: n}) for item in items]
    history = []
    for k in range(times):
        history.append(now)
        state = {item.placeholder.function: value for item, value in zip(items, now, strict=True)}
        now = [evaluate(item.next, {K: k, N: n}, looked_up(state)) for item in items]
    return history
