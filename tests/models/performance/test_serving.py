"""Serving: the event simulation against queueing theory, conservation, splitting, SLA."""

import numpy as np
import pytest

from recspeed.models.performance import presets
from recspeed.models.performance.errors import SpecificationError
from recspeed.models.performance.serving import (
    LARGEST_QUERY,
    QuerySizes,
    ServiceTime,
    Serving,
    poisson_arrivals,
    service_model,
    simulate,
)
from recspeed.models.spec.placement_strategy import parse_placement

SECOND = ServiceTime(1.0, 1.0)


def fixed(samples: int) -> ServiceTime:
    del samples
    return SECOND


def linear(samples: int) -> ServiceTime:
    return ServiceTime(samples * 1e-3, samples * 1e-3)


@pytest.mark.parametrize("load", [0.3, 0.6, 0.8])
def test_mean_wait_is_that_of_an_m_d_1_queue(load: float) -> None:
    print("seed 5")
    serving = Serving(fixed, QuerySizes("fixed", 1), 10, queries=60_000, seed=5)
    served = serving.at(load)
    wait = served.latencies.mean() - 1.0
    assert wait == pytest.approx(load / (2 * (1 - load)), rel=0.08)
    assert served.utilisation == pytest.approx(load, rel=0.02)


def test_latency_beyond_the_interval_is_added_once() -> None:
    served = simulate([0.0, 0.1], [1, 1], lambda _: ServiceTime(1.0, 3.0), 10)
    assert served.latencies == pytest.approx([3.0, 3.9])
    assert served.busy == pytest.approx(2.0)


def test_first_come_first_served_by_hand() -> None:
    served = simulate([0.0, 0.5, 5.0], [1000, 2000, 500], linear, 5000)
    assert served.latencies == pytest.approx([1.0, 2.5, 0.5])


def test_a_query_is_answered_with_its_last_part() -> None:
    seen: list[int] = []

    def service(samples: int) -> ServiceTime:
        seen.append(samples)
        return linear(samples)

    served = simulate([0.0], [1001], service, 300)
    assert sum(seen) == 1001
    assert max(seen) <= 300
    assert len(seen) == 4
    assert served.latencies == pytest.approx([1.001])
    two = simulate([0.0], [1001], linear, 501, replicas=2)
    assert two.latencies == pytest.approx([0.501])


def test_replicas_share_the_load() -> None:
    one = Serving(fixed, QuerySizes("fixed", 1), 10, queries=4000)
    four = Serving(fixed, QuerySizes("fixed", 1), 10, replicas=4, queries=4000)
    assert four.capacity() == pytest.approx(4 * one.capacity())
    assert four.at(0.5).latencies.mean() < one.at(0.5).latencies.mean()


def test_sizes_have_their_median_and_limits() -> None:
    random = np.random.default_rng(3)
    for kind in ("fixed", "lognormal", "exponential"):
        sizes = QuerySizes(kind, 200).draw(random, 20_000)
        assert np.median(sizes) == pytest.approx(200, rel=0.05)
        assert sizes.min() >= 1
        assert sizes.max() <= LARGEST_QUERY
    own = QuerySizes(values=(3, 5)).draw(random, 100)
    assert set(own) == {3, 5}


def test_equal_seeds_give_equal_runs_and_others_do_not() -> None:
    runs = [
        Serving(linear, QuerySizes(), 4096, queries=500, seed=seed).at(2.0).latencies
        for seed in (1, 1, 2)
    ]
    assert (runs[0] == runs[1]).all()
    assert not (runs[0] == runs[2]).all()


def test_arrivals_are_poisson() -> None:
    gaps = np.diff(poisson_arrivals(50.0, 50_000, np.random.default_rng(4)))
    assert gaps.mean() == pytest.approx(0.02, rel=0.02)
    assert gaps.std() == pytest.approx(0.02, rel=0.03)


def test_highest_load_meets_the_sla_and_a_higher_one_misses_it() -> None:
    serving = Serving(linear, QuerySizes(), 4096, queries=3000, seed=7)
    best = serving.highest_qps(sla=3.0, percent=95)
    assert serving.at(best).percentile(95) <= 3.0
    assert serving.at(best + 0.03 * serving.capacity()).percentile(95) > 3.0
    assert serving.highest_qps(sla=1e-3, percent=95) == 0.0
    # A larger constraint never allows less.
    assert serving.highest_qps(sla=6.0, percent=95) >= best


def test_no_load_without_queries() -> None:
    with pytest.raises(SpecificationError, match="must be above zero"):
        Serving(linear, QuerySizes(), 4096).at(0.0)


def test_service_time_is_the_models() -> None:
    small, system = presets.workload("rm2-small"), presets.system("recspeed-16")
    service = service_model(small, system, parse_placement("unsharded"))
    time = service(200)
    assert 1 / time.interval == pytest.approx(301_771, rel=1e-4)
    # The answer of one query waits for its own index exchange, which the next query's hides.
    assert 1 / time.latency == pytest.approx(224_026, rel=1e-4)
    assert service(400).interval > time.interval
