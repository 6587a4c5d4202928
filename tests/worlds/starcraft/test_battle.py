"""Each rule of a battle in a small one made for it."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.worlds.starcraft.battles import (
    BANELING,
    FOE,
    MARINE,
    OWN,
    ROACH,
    SLOTS,
    ZERGLING,
    army,
    fight,
    harmless,
    having,
    hits,
    ordered,
    tough,
)  # fmt: skip
from wakesleep.worlds.starcraft.units import NO_UNIT, STATISTICS, Order


def duel(attacker, victim, distance):
    """An own unit strikes at an enemy that does nothing; the enemy's life."""
    units = army([(attacker, 30, 28)], [(victim, 30 + distance, 28)])
    units = ordered(tough(harmless(units, FOE), FOE), 0, Order.TARGET, aim=FOE)
    return np.asarray(fight(units).life[:, FOE])


@pytest.mark.parametrize(
    ("attacker", "victim", "distance", "damage", "period", "first"),
    [
        (MARINE, ZERGLING, 3, 6, 0.8608 * 16, 1),
        (MARINE, ROACH, 3, 5, 0.8608 * 16, 1),  # armour 1
        (ROACH, MARINE, 1, 16, 32, 3),
        (ROACH, MARINE, 4.5, 16, 32, 6),  # the missile flies 3.625 at 1.17 a loop, after 2.67 loops
        (ZERGLING, MARINE, 0.8, 5, 0.696 * 16, 3),
    ],
)
def test_weapons(attacker, victim, distance, damage, period, first):
    when, lost = hits(duel(attacker, victim, distance))
    healed = float(STATISTICS.regeneration[victim])
    np.testing.assert_allclose(lost, damage, atol=healed + 1e-3)
    assert np.diff(when).mean() == pytest.approx(period, abs=0.1)
    assert when[0] == first + 1  # the attack begins in the first loop


def test_a_marine_kills_a_roach_in_time():
    """145 life and what grows back, 5 a shot, a shot every 13.77 loops: about 26 seconds."""
    units = army([(MARINE, 30, 28)], [(ROACH, 33, 28)])
    units = ordered(harmless(units, FOE), 0, Order.TARGET, aim=FOE)
    life = np.asarray(fight(units).life[:, FOE])
    died = int(np.argmin(life > 0))
    shots = len(hits(life[: died + 1])[0])
    grown = STATISTICS.regeneration[ROACH] * died
    assert shots == np.ceil((145 + grown) / 5)
    assert died == pytest.approx(2 + (shots - 1) * 13.77, abs=1.5)


def test_cooldowns_are_jittered():
    units = army([(MARINE, 30, 28)], [(ROACH, 33, 28)])
    units = ordered(tough(harmless(units, FOE), FOE), 0, Order.TARGET, aim=FOE)
    for extra in (-1.0, 2.0):
        when, _ = hits(fight(units, jnp.full(SLOTS, extra)).life[:, FOE])
        assert np.diff(when).mean() == pytest.approx(13.77 + extra, abs=0.1)


def test_reach_is_from_edge_to_edge():
    reach = 5 + 0.375 + 0.5
    for beyond, strikes in ((-0.05, True), (0.05, False)):
        units = army([(MARINE, 28, 28)], [(ROACH, 28 + reach + beyond, 28)])
        units = ordered(harmless(units, FOE), 0, Order.HOLD)
        assert (len(hits(fight(units).life[:, FOE])[0]) > 0) == strikes


def test_two_banelings_kill_two_marines_that_stand_together():
    units = army([(MARINE, 33, 28), (MARINE, 33, 28.8), (MARINE, 36.5, 28)], [(BANELING, 30, 28), (BANELING, 28.2, 28)])
    for slot in range(3):
        units = harmless(units, slot)
    life = np.asarray(fight(units).life)
    bursts = [int(np.argmin(life[:, FOE + number] > 0)) for number in range(2)]
    assert 0 < bursts[0] < bursts[1]
    np.testing.assert_allclose(life[bursts[0], :3], [10, 10, 45])  # 35 to light units within 2.2
    np.testing.assert_allclose(life[bursts[1], :3], [0, 0, 45])


def test_a_baneling_that_is_shot_bursts_too():
    units = army([(MARINE, 30, 28), (MARINE, 33, 29.5)], [(BANELING, 33, 28), (ZERGLING, 33, 27)])
    units = having(ordered(harmless(harmless(units, 1), FOE + 1), FOE, Order.HOLD), FOE, life=5.0)
    units = ordered(units, 0, Order.TARGET, aim=FOE)
    life = np.asarray(fight(units).life)
    died = int(np.argmin(life[:, FOE] > 0))
    assert life[died - 1, 1] == 45
    np.testing.assert_allclose(life[died, [0, 1, FOE + 1]], [45, 10, 35])  # far away, near, and its friend


def test_a_baneling_bursts_once():
    units = army([(MARINE, 33, 28)], [(BANELING, 31, 28)])
    life = np.asarray(fight(tough(harmless(units, 0), 0)).life)
    assert life[-1, 0] == 1000 - 35


def test_zerg_heal_up_to_their_life_and_marines_do_not():
    units = army([(MARINE, 23, 28)], [(ROACH, 40, 28), (ZERGLING, 40, 24)])
    units = having(having(having(units, 0, life=20.0), FOE, life=100.0), FOE + 1, life=34.0)
    life = np.asarray(fight(units).life[-1])
    assert life[0] == 20
    assert life[FOE] == pytest.approx(100 + 30 * 0.2734, abs=0.01)  # half a minute
    assert life[FOE + 1] == 35


@pytest.mark.parametrize(("kind", "speed"), [(MARINE, 2.25), (ROACH, 2.25), (ZERGLING, 2.953), (BANELING, 2.5)])
def test_speeds(kind, speed):
    units = ordered(army([(kind, 23, 28)]), 0, Order.MOVE, 43.0, 28.0)
    assert fight(units).x[32, 0] == pytest.approx(23 + 2 * speed, abs=1e-3)  # two seconds


def test_a_unit_stops_where_it_was_sent():
    moments = fight(ordered(army([(MARINE, 23, 28)]), 0, Order.MOVE, 27.0, 30.0))
    assert (moments.x[-1, 0], moments.y[-1, 0]) == (pytest.approx(27), pytest.approx(30))
    assert moments.order[-1, 0] == Order.IDLE


def test_move_does_not_fight_and_attack_move_does():
    for order, fought in ((Order.MOVE, False), (Order.ATTACK_MOVE, True)):
        units = army([(MARINE, 25, 28)], [(ZERGLING, 33, 24)])
        units = ordered(harmless(units, FOE), 0, order, 41.0, 28.0)
        moments = fight(units)
        assert (float(moments.life[-1, FOE]) < 35) == fought
        assert moments.x[-1, 0] == pytest.approx(41)  # it goes on when the enemy is dead


def test_a_target_is_followed_past_nearer_enemies():
    units = army([(MARINE, 25, 28)], [(ZERGLING, 28, 28), (ZERGLING, 40, 28)])
    units = ordered(harmless(harmless(units, FOE), FOE + 1), 0, Order.TARGET, aim=FOE + 1)
    life = np.asarray(fight(units).life)
    died = int(np.argmin(life[:, FOE + 1] > 0))
    assert 0 < died
    assert life[died, FOE] == 35


def test_hold_stays_and_fights_only_in_reach():
    units = army([(MARINE, 30, 28)], [(ZERGLING, 35.9, 28), (ZERGLING, 30, 33)])
    units = ordered(tough(harmless(harmless(units, FOE), FOE + 1), FOE + 1), 0, Order.HOLD)
    moments = fight(units)
    assert moments.x[-1, 0] == 30
    assert moments.life[-1, FOE] == 35  # in scan, out of reach
    assert moments.life[-1, FOE + 1] < 1000


def test_patrol_goes_to_and_fro():
    x = np.asarray(fight(ordered(army([(MARINE, 25, 28)]), 0, Order.PATROL, 30.0, 28.0)).x[:, 0])
    turns = np.flatnonzero(np.diff(np.sign(np.diff(x))) != 0)
    assert len(turns) >= 4
    assert (x.min(), x.max()) == (pytest.approx(25, abs=0.2), pytest.approx(30, abs=0.2))


def test_idle_enemies_wait_until_a_marine_is_near():
    edge = 5 + 0.5 + 0.375
    for beyond, stirs in ((0.2, False), (-0.2, True)):
        units = harmless(army([(MARINE, 30, 28)], [(ROACH, 30 + edge + beyond, 28)]), 0)
        moments = fight(units)
        assert (float(moments.x[40, FOE]) < 30 + edge + beyond - 0.5) == stirs


def test_who_is_hit_calls_friends_within_four():
    units = army([(MARINE, 28, 28)], [(ROACH, 33.8, 28), (ROACH, 37, 28), (ROACH, 39.5, 28)])
    units = ordered(tough(harmless(units, FOE), FOE), 0, Order.HOLD)
    moments = fight(units)
    assert int(moments.aim[4, FOE + 1]) == 0
    assert moments.x[60, FOE + 1] < 36
    np.testing.assert_allclose(moments.x[:30, FOE + 2], 39.5)  # too far from the one that is hit
    assert int(moments.aim[30, FOE + 2]) == NO_UNIT


def test_the_leash_calls_back():
    units = army([(MARINE, 43.5, 35.5)], [(ROACH, 38, 31)])
    far = having(harmless(units, 0), FOE, goal_x=24.0, goal_y=22.0, aim=0)  # 16.6 from home: follows
    assert fight(far).life[-1, 0] < 45
    beyond = army([(MARINE, 43.5, 35.5)], [(ROACH, 41, 29)])  # 21.02 from home, and the Marine is not in its scan
    beyond = having(harmless(beyond, 0), FOE, goal_x=22.0, goal_y=20.0, aim=0)
    moments = fight(beyond)
    assert moments.life[-1, 0] == 45
    assert np.hypot(moments.x[-1, FOE] - 22, moments.y[-1, FOE] - 20) < 1.2  # home


def test_two_in_one_place_part():
    moments = fight(army([(MARINE, 30, 28), (MARINE, 30, 28)]))
    assert np.hypot(moments.x[-1, 0] - moments.x[-1, 1], moments.y[-1, 0] - moments.y[-1, 1]) > 0.7


def test_a_crowd_that_was_sent_to_one_place_settles():
    units = army([(MARINE, 25, 26 + row) for row in range(OWN)])
    for slot in range(OWN):
        units = having(ordered(units, slot, Order.MOVE, 33.0, 28.0), slot, slack=0.9)
    moments = fight(units)
    assert (moments.order[-1, :OWN] == Order.IDLE).all()
    assert np.abs(np.diff(np.asarray(moments.x)[-30:, :OWN], axis=0)).max() < 0.01


def test_symmetric_battles_are_fair():
    """Four Marines against four, mirrored; only the cooldowns' jitter differs."""
    places = [(30.0, 25.0 + 2 * row) for row in range(OWN)]
    units = army([(MARINE, x, y) for x, y in places], [(MARINE, 66 - x, y) for x, y in places])
    battles = 400
    jitters = jax.random.uniform(jax.random.key(0), (battles, SLOTS), minval=-1, maxval=2)
    last = jax.vmap(lambda jitter: jax.tree.map(lambda leaf: leaf[-1], fight(units, jitter)))(jitters)
    own, foes = np.asarray(last.alive[:, :OWN]).sum(1), np.asarray(last.alive[:, FOE:]).sum(1)
    assert (own + foes < 2 * OWN).all()
    won = (own > foes).sum() + 0.5 * (own == foes).sum()
    assert abs(won / battles - 0.5) < 0.1  # four standard deviations
