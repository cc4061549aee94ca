use super::*;
use proptest::prelude::*;

const fn us(count: u64) -> Duration {
    Duration::from_micros(count)
}

const fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

fn script(service: Service) -> Script {
    Script {
        service,
        seed: 11,
        ..Script::default()
    }
}

fn frozen(freeze: &str, service: Service) -> Script {
    Script {
        freeze: Some(freeze.parse().unwrap()),
        ..script(service)
    }
}

/// When the responses to requests that arrive then are due.
fn due<const N: usize>(script: &Script, arrivals: [u64; N]) -> [Duration; N] {
    let mut timeline = script.timeline();
    arrivals.map(|arrival| timeline.response_due(us(arrival)))
}

/// Half a million random arrivals, 1 ms apart on average, with service times of 0.5 ms.
fn half_busy(service: Service) -> Latencies {
    script(service).latencies(poisson_arrivals(1000.0, 23).take(500_000))
}

fn with_workers(workers: usize, service: Service) -> Script {
    Script {
        workers: workers.try_into().unwrap(),
        ..script(service)
    }
}

fn is_near(value: Duration, expected: Duration) -> bool {
    value.abs_diff(expected) < expected.mul_f64(0.02)
}

#[test]
fn each_request_waits_for_the_previous_one() {
    let service = Service::Listed([us(5), us(1), us(10), us(1)].into());
    let due = due(&script(service), [0, 2, 20, 25]);
    assert_eq!(due, [5, 6, 30, 31].map(us));
}

#[test]
fn fixed_times_give_the_wait_of_the_textbook() {
    // M/D/1: the mean time in it is s + ρs / 2(1 - ρ) = 0.5 + 0.25 ms.
    let mean = half_busy(Service::Fixed(us(500))).mean();
    assert!(is_near(mean, us(750)), "{mean:?}");
}

#[test]
fn random_times_give_the_distribution_of_the_textbook() {
    // M/M/1: the time in it is exponential of mean s / (1 - ρ) = 1 ms.
    let latencies = half_busy(Service::Exponential(us(500)));
    let mean = latencies.mean();
    assert!(is_near(mean, us(1000)), "{mean:?}");
    for quantile in [0.5, 0.9, 0.99, 0.999] {
        let expected = us(1000).mul_f64(-f64::ln(1.0 - quantile));
        let value = latencies.at(quantile);
        let is_near = value.abs_diff(expected) < expected.mul_f64(0.05);
        assert!(is_near, "{quantile}: {value:?}, not {expected:?}");
    }
}

#[test]
fn several_workers_serve_several_at_a_time_and_a_short_one_may_overtake() {
    let service = Service::Listed([us(10), us(2), us(5), us(1)].into());
    let due = due(&with_workers(2, service), [0, 1, 2, 9]);
    // The third waits for the second until 3, the fourth for nobody: at 8 a worker is free.
    assert_eq!(due, [10, 3, 8, 10].map(us));
}

#[test]
fn the_capacity_is_the_number_of_workers_over_the_service_time() {
    // 4 workers of 2 ms serve 2000 a second: at that rate nobody waits, above it everybody does,
    // longer and longer.
    let script = with_workers(4, Service::Fixed(us(2000)));
    let longest = |per_s| script.latencies(even_arrivals(per_s, 20_000)).at(1.0);
    assert_eq!([1999.0, 2000.0].map(longest), [us(2000); 2]);
    // 20,000 at 2,020/s come within 9.9 s and take 10.
    let over = longest(2020.0);
    assert!(over.abs_diff(us(101_000)) < us(3000), "{over:?}");
}

#[test]
fn several_workers_give_the_wait_of_the_textbook() {
    // M/M/4 at 75 % of its capacity. Erlang's C: a request waits with the chance 0.5094, and then for
    // an exponential time of mean s / (4 - 3); so the mean time in it is s + 0.5094 s.
    let script = with_workers(4, Service::Exponential(us(3000)));
    let mean = script
        .latencies(poisson_arrivals(1000.0, 29).take(500_000))
        .mean();
    assert!(is_near(mean, us(3000).mul_f64(1.5094)), "{mean:?}");
}

#[test]
fn requests_that_arrive_in_a_freeze_wait_for_its_end() {
    let script = frozen("1s/10s", Script::default().service);
    // 25 s at 1000/s: 2 freezes of 1000 arrivals, which wait 1000 ms, 999 ms, …, 1 ms.
    let latencies = script.latencies(even_arrivals(1000.0, 25_000));
    // At 0.99 it is the 251st from the top, of two each.
    let quantiles = [0.5, 0.9, 0.92, 0.99, 0.999, 1.0];
    let expected = [0, 0, 0, 875, 988, 1000];
    assert_eq!(quantiles.map(|it| latencies.at(it)), expected.map(ms));
    assert_eq!(latencies.mean(), ms(2 * 500_500) / 25_000);
}

#[test]
fn requests_queued_in_a_freeze_are_served_one_by_one_after_it() {
    let script = frozen("10us/100us", Service::Fixed(us(4)));
    let due = due(&script, [0, 85, 88, 95, 96, 130]);
    // The third is half done when the freeze begins: it has 1 µs of its 4 left then.
    assert_eq!(due, [4, 89, 103, 107, 111, 134].map(us));
}

proptest! {
    #[test]
    fn no_more_requests_are_served_at_once_than_there_are_workers_and_no_worker_idles_while_one_waits(
        workers in 1usize..5,
        requests in prop::collection::vec((0u64..20, 0u64..50), 1..60),
    ) {
        let times: Vec<Duration> = requests.iter().map(|&(_, work)| us(work)).collect();
        let mut timeline = with_workers(workers, Service::Listed(times.into())).timeline();
        let (mut now, mut served) = (Duration::ZERO, Vec::<(Duration, Duration)>::new());
        for (gap, work) in requests {
            now += us(gap);
            let due = timeline.response_due(now);
            let begin = due - us(work);
            prop_assert!(begin >= now);
            let busy = |at: Duration| {
                served.iter().filter(|&&(begin, end)| begin <= at && at < end).count()
            };
            prop_assert!(busy(begin) < workers);
            prop_assert!(begin == now || busy(begin - us(1)) == workers);
            served.push((begin, due));
        }
    }
}

#[test]
fn percentiles_are_values_of_the_list() {
    let ten: Latencies = (1..=10).rev().map(ms).collect();
    let quantiles = [0.0, 0.1, 0.11, 0.5, 0.9, 0.901, 0.999, 1.0];
    let expected = [1, 1, 2, 5, 9, 10, 10, 10];
    assert_eq!(quantiles.map(|it| ten.at(it)), expected.map(ms));
    assert_eq!(ten.mean(), ms(55) / 10);
    let none = Latencies::from_iter([]);
    assert_eq!((none.at(0.5), none.mean()), (ms(0), ms(0)));
}

#[test]
fn even_arrivals_are_exact_however_many() {
    let last = even_arrivals(1000.0, 100_001).last();
    assert_eq!(last, Some(Duration::from_secs(100)));
    assert_eq!(even_arrivals(3.0, 4).last(), Some(Duration::from_secs(1)));
}

#[test]
fn random_arrivals_have_their_rate_and_the_gaps_of_a_poisson_process() {
    let arrivals: Vec<f64> = poisson_arrivals(500.0, 3)
        .take(200_000)
        .map(|arrival| arrival.as_secs_f64())
        .collect();
    let mean = arrivals[arrivals.len() - 1] / arrivals.len() as f64;
    assert!((mean * 500.0 - 1.0).abs() < 0.01, "{mean}");
    // More than a mean apart are 1/e of them.
    let long = arrivals.windows(2).filter(|pair| pair[1] - pair[0] > 0.002);
    let share = long.count() as f64 / arrivals.len() as f64;
    assert!((share - (-1.0_f64).exp()).abs() < 0.01, "{share}");
    let first = |seed| poisson_arrivals(500.0, seed).take(5).collect::<Vec<_>>();
    assert_eq!(first(3), first(3));
    assert_ne!(first(3), first(4));
}
