//! Virtual time: how long a processor of a given speed takes, exactly and in integers.
//!
//! A unit instruction is [`Clock::quanta`] quanta of work. A processor of speed π does a whole number of quanta per
//! tick that is proportional to π: its *rate*. What a processor has done between two ticks is the integral of its rate.
//! So a change of speed takes effect at once, in the middle of whatever the processor does. A processor of rate 0
//! stands still.
//!
//! # How exact
//! The quanta of an instruction are a multiple of all rates, so whatever begins and ends at one speed takes a whole
//! number of ticks. Work that is cut by a change of speed, or that moves to another processor in the middle (HET's
//! migrations and muggings), may end between two ticks: at a multiple of 1/L of a tick, where L is the least common
//! multiple of the rates without their common divisor. Then something else begins there, is cut in turn, and ends at a
//! multiple of 1/L². So an instruction gets as many factors L as 64 bits allow, and every moment is exact until that
//! many cuts depend on each other. After that a moment is rounded up to a tick, which is by then a tiny part of a step,
//! and [`Outcome::rounded`](crate::Outcome::rounded) counts it.
//!
//! With equal, constant speeds of 1, a tick is BL's time step, even if processors stop and come back at whole times.

use crate::speeds::Speeds;
use crate::{ProcessorId, Ratio, SimulationError};
use bombyx_base::gcd;

/// The end of something that never ends.
pub(crate) const NEVER: u64 = u64::MAX;

/// One stretch of constant speed.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    /// The first tick of the stretch.
    from: u64,
    /// Quanta per tick.
    rate: u64,
    /// Quanta done before the stretch.
    done: u128,
}

/// Converts between work and time for every processor.
#[derive(Clone, Debug)]
pub(crate) struct Clock {
    quanta: u64,
    ticks_per_unit: u64,
    /// Each processor's stretches in the order of time; the first begins at 0.
    stretches: Vec<Vec<Stretch>>,
    /// When processors lose what they are doing, in the order of time.
    crashes: Vec<(u64, ProcessorId)>,
    /// Whether something may end between two ticks.
    may_round: bool,
    /// Whether some processor stands still at some time.
    stops: bool,
    /// What each processor believes its speed to be, as a multiple of its rate in a common unit. Empty if all are
    /// right.
    beliefs: Vec<u64>,
}

/// A run has fewer ticks than this.
pub(crate) const MOST_TICKS: u128 = 1 << 58;

impl Clock {
    /// A clock for processors of these speeds that have this much work to do. `beliefs` are the factors by which
    /// processors misjudge their speeds, or empty.
    pub(crate) fn new(
        speeds: &Speeds,
        beliefs: &[Ratio],
        processors: usize,
        work: u64,
    ) -> Result<Self, SimulationError> {
        let list = speeds.list().map_or_else(|| vec![Ratio::ONE; processors], <[Ratio]>::to_vec);
        if list.len() != processors {
            return Err(SimulationError::SpeedCount { speeds: list.len(), processors });
        }
        if !beliefs.is_empty() && beliefs.len() != processors {
            return Err(SimulationError::EstimateCount { estimates: beliefs.len(), processors });
        }
        let mut changes = speeds.changes().to_vec();
        changes.sort_by_key(|change| change.at);
        if let Some(stranger) = changes.iter().find(|change| change.processor.index() >= processors) {
            return Err(SimulationError::UnknownProcessor { processor: stranger.processor, processors });
        }
        let scale = Scale::of(&list, &changes, work).ok_or(SimulationError::SpeedsTooFine)?;
        let ticks_per_unit = scale.quanta / scale.common;
        let first = |&speed: &Ratio| vec![Stretch { from: 0, rate: scale.rate(speed), done: 0 }];
        let mut stretches: Vec<Vec<Stretch>> = list.iter().map(first).collect();
        let mut crashes = Vec::new();
        for change in changes {
            let from = change.at.numerator() * (ticks_per_unit / change.at.denominator());
            let before = stretches[change.processor.index()].last().expect("there is a first stretch");
            let done = before.done_by(from);
            stretches[change.processor.index()].push(Stretch { from, rate: scale.rate(change.speed), done });
            if change.crash {
                crashes.push((from, change.processor));
            }
        }
        let beliefs = believed(beliefs).ok_or(SimulationError::SpeedsTooFine)?;
        let stops = stretches.iter().flatten().any(|s| s.rate == 0);
        let clock = Self {
            quanta: scale.quanta,
            ticks_per_unit,
            stretches,
            crashes,
            may_round: scale.factor > 1,
            stops,
            beliefs,
        };
        let fastest = clock.rates().1;
        let fits = clock.beliefs.iter().all(|&belief| fastest.checked_mul(belief).is_some());
        if fits { Ok(clock) } else { Err(SimulationError::SpeedsTooFine) }
    }

    /// Quanta of work in one unit instruction.
    #[inline]
    pub(crate) fn quanta(&self) -> u64 {
        self.quanta
    }

    /// Ticks in one unit of time: how long a processor of speed 1 takes for one instruction.
    #[inline]
    pub(crate) fn ticks_per_unit(&self) -> u64 {
        self.ticks_per_unit
    }

    /// The processor's speed at `tick`, as quanta per tick: a number to compare, not to print.
    #[inline]
    pub(crate) fn rate(&self, p: ProcessorId, tick: u64) -> u64 {
        let stretches = &self.stretches[p.index()];
        if stretches.len() == 1 { stretches[0].rate } else { stretches[stretch_at(stretches, tick)].rate }
    }

    /// What the processor believes its speed to be at `tick`. A number to compare with those of others.
    #[inline]
    pub(crate) fn estimate(&self, p: ProcessorId, tick: u64) -> u64 {
        self.rate(p, tick) * self.beliefs.get(p.index()).copied().unwrap_or(1)
    }

    /// The lowest and the highest rate of any processor at any time.
    pub(crate) fn rates(&self) -> (u64, u64) {
        let rates = || self.stretches.iter().flatten().map(|s| s.rate);
        (rates().min().unwrap_or(1), rates().max().unwrap_or(1))
    }

    /// The lowest and the highest estimate of any processor at any time.
    pub(crate) fn estimates(&self) -> (u64, u64) {
        let estimates = || {
            self.stretches.iter().zip(0..).flat_map(|(stretches, p)| {
                stretches.iter().map(move |s| self.estimate(ProcessorId(p), s.from))
            })
        };
        (estimates().min().unwrap_or(1), estimates().max().unwrap_or(1))
    }

    /// Whether every processor always executes exactly one instruction per tick.
    pub(crate) fn steps_are_ticks(&self) -> bool {
        self.rates() == (self.quanta, self.quanta)
    }

    /// Whether something may end between two ticks and be rounded up.
    pub(crate) fn may_round(&self) -> bool {
        self.may_round
    }

    /// Whether some processor stands still at some time.
    pub(crate) fn stops(&self) -> bool {
        self.stops
    }

    /// The ticks at which some processor changes its speed.
    pub(crate) fn changes(&self) -> impl Iterator<Item = u64> {
        self.stretches.iter().flat_map(|stretches| stretches[1..].iter().map(|s| s.from))
    }

    /// When processors lose what they are doing, in the order of time.
    pub(crate) fn crashes(&self) -> &[(u64, ProcessorId)] {
        &self.crashes
    }

    /// When a processor that begins at `start` has done `quanta` of work, rounded up to a tick. [`NEVER`] if it never
    /// has.
    #[inline]
    pub(crate) fn end(&self, p: ProcessorId, start: u64, quanta: u64) -> u64 {
        let stretches = &self.stretches[p.index()];
        if let [only] = stretches.as_slice() {
            return match only.rate {
                0 => NEVER,
                rate => start + quanta.div_ceil(rate),
            };
        }
        let target = stretches[stretch_at(stretches, start)].done_by(start) + u128::from(quanta);
        // The last stretch that begins with less done than that. If the processor stands still in it, it does so for
        // ever.
        let last = &stretches[stretches.partition_point(|s| s.done < target) - 1];
        match last.rate {
            0 => NEVER,
            rate => last.from + (target - last.done).div_ceil(u128::from(rate)) as u64,
        }
    }

    /// The quanta that a processor can do from one tick to another.
    pub(crate) fn between(&self, p: ProcessorId, from: u64, to: u64) -> u128 {
        let stretches = &self.stretches[p.index()];
        stretches[stretch_at(stretches, to)].done_by(to)
            - stretches[stretch_at(stretches, from)].done_by(from)
    }

    /// How much of `quanta` a processor that began at `start` has done by `now`.
    pub(crate) fn done(&self, p: ProcessorId, start: u64, quanta: u64, now: u64) -> u64 {
        self.between(p, start, now).min(quanta.into()) as u64
    }

    /// A processor does `each` quanta again and again from `since` on. Returns how often by `now`, when the last one
    /// ended, and how many of these moments were rounded up. `each` is a multiple of an instruction.
    pub(crate) fn repeat(&self, p: ProcessorId, since: u64, each: u64, now: u64) -> Repeated {
        let stretches = &self.stretches[p.index()];
        let mut repeated = Repeated { count: 0, until: since, rounded: 0 };
        loop {
            let here = stretch_at(stretches, repeated.until);
            let Stretch { rate, .. } = stretches[here];
            let end = stretches.get(here + 1).map_or(now, |next| next.from.min(now));
            if let Some(ticks) = each.checked_div(rate) {
                let whole = (end - repeated.until) / ticks;
                repeated.count += whole;
                repeated.until += whole * ticks;
            }
            let next = self.end(p, repeated.until, each);
            if next > now {
                return repeated;
            }
            repeated.rounded += u64::from(self.between(p, repeated.until, next) > each.into());
            repeated.count += 1;
            repeated.until = next;
        }
    }
}

/// What [`Clock::repeat`] finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Repeated {
    pub(crate) count: u64,
    pub(crate) until: u64,
    pub(crate) rounded: u64,
}

impl Stretch {
    fn done_by(&self, tick: u64) -> u128 {
        self.done + u128::from(tick - self.from) * u128::from(self.rate)
    }
}

/// How speeds become rates, and how finely work is divided.
struct Scale {
    /// A processor of speed 1 has this rate.
    common: u64,
    /// Quanta in an instruction.
    quanta: u64,
    /// How much finer time gets with every cut: L in the module's documentation.
    factor: u64,
}

impl Scale {
    /// The finest scale that 64 bits allow, unless equal speeds need none.
    fn of(list: &[Ratio], changes: &[crate::Change], work: u64) -> Option<Self> {
        let speeds = || list.iter().copied().chain(changes.iter().map(|change| change.speed));
        let common = lcm_of(speeds().map(Ratio::denominator))?;
        let rate = |speed: Ratio| speed.numerator().checked_mul(common / speed.denominator());
        let rates: Vec<u64> = speeds().map(rate).collect::<Option<_>>()?;
        let moving = || rates.iter().copied().filter(|&rate| rate > 0);
        let shared = moving().fold(0, gcd).max(1);
        let factor = lcm_of(moving().map(|rate| rate / shared))?;
        let whole_times = changes.iter().map(|change| common.checked_mul(change.at.denominator()));
        let whole_times: Vec<u64> = whole_times.collect::<Option<_>>()?;
        let least = lcm_of(moving().chain([common]).chain(whole_times))?;
        let slowest = u128::from(moving().min().unwrap_or(1));
        let last = changes.iter().map(|change| change.at).max().unwrap_or(Ratio::ZERO);
        let fits = |quanta: u64| {
            let (quanta, work) = (u128::from(quanta), u128::from(work.max(1)));
            let last = u128::from(last.numerator()).checked_mul(quanta / u128::from(common));
            let total = quanta.checked_mul(work).filter(|&total| total < 1 << 62);
            total.is_some_and(|total| total / slowest < MOST_TICKS)
                && last.is_some_and(|last| last / u128::from(last_denominator(changes)) < MOST_TICKS)
        };
        let mut quanta = Some(least).filter(|&least| fits(least))?;
        for step in [factor, 2] {
            while factor > 1
                && let Some(finer) = quanta.checked_mul(step).filter(|&finer| fits(finer))
            {
                quanta = finer;
            }
        }
        Some(Self { common, quanta, factor })
    }

    fn rate(&self, speed: Ratio) -> u64 {
        speed.numerator() * (self.common / speed.denominator())
    }
}

/// The denominator of the last change's time.
fn last_denominator(changes: &[crate::Change]) -> u64 {
    changes.iter().max_by_key(|change| change.at).map_or(1, |change| change.at.denominator())
}

/// Factors of belief as whole numbers in a common unit.
fn believed(factors: &[Ratio]) -> Option<Vec<u64>> {
    let common = lcm_of(factors.iter().map(|factor| factor.denominator()))?;
    factors.iter().map(|factor| factor.numerator().checked_mul(common / factor.denominator())).collect()
}

fn stretch_at(stretches: &[Stretch], tick: u64) -> usize {
    if stretches.len() == 1 { 0 } else { stretches.partition_point(|s| s.from <= tick) - 1 }
}

fn lcm_of(numbers: impl IntoIterator<Item = u64>) -> Option<u64> {
    numbers.into_iter().try_fold(1u64, |l, n| (l / gcd(l, n)).checked_mul(n))
}

#[cfg(test)]
mod tests {
    use super::*;
    use bombyx_base::Random;

    const P: ProcessorId = ProcessorId(0);

    fn clock(speeds: &str, processors: usize) -> Clock {
        Clock::new(&speeds.parse().unwrap(), &[], processors, 1000).unwrap()
    }

    #[test]
    fn equal_speeds_make_a_tick_a_step() {
        let clock = clock("", 3);
        assert_eq!((clock.quanta(), clock.ticks_per_unit()), (1, 1));
        assert_eq!(clock.end(P, 5, 7), 12);
        assert_eq!(clock.between(P, 0, 12), 12);
        assert!(!clock.may_round());
    }

    #[test]
    fn stops_at_whole_times_leave_a_tick_a_step() {
        let clock = clock("3x1;5:p1=0;9:p1=1;20:p1=0", 3);
        assert_eq!((clock.quanta(), clock.ticks_per_unit()), (1, 1));
        assert!(!clock.may_round() && clock.stops());
        assert_eq!(clock.end(P, 3, 4), 11);
        assert_eq!(clock.end(P, 3, 2), 5);
        assert_eq!(clock.end(P, 6, 1), 10);
        assert_eq!(clock.end(P, 6, 11), 20);
        assert_eq!(clock.end(P, 6, 12), NEVER);
        assert_eq!(clock.repeat(P, 3, 3, 15), Repeated { count: 2, until: 13, rounded: 0 });
    }

    #[test]
    fn instructions_take_whole_ticks_on_every_processor() {
        let clock = clock("3,1.5,5/7", 3);
        for p in (0..3).map(ProcessorId) {
            assert_eq!(clock.quanta() % clock.rate(p, 0), 0);
        }
        assert_eq!(clock.end(ProcessorId(0), 0, 3 * clock.quanta()), clock.ticks_per_unit());
        assert_eq!(clock.end(ProcessorId(1), 0, 3 * clock.quanta()), 2 * clock.ticks_per_unit());
    }

    /// The end of work is the first tick by which the sum of the rates reaches it, tick by tick.
    #[test]
    fn ends_are_sums_of_rates() {
        let clock = clock("2;1:p1=0.5;1.5:p1=3;2:p1=0;5/2:p1=2/3;4:p1=1/6", 1);
        let unit = clock.ticks_per_unit();
        let mut random = Random::stream(1, 1);
        for _ in 0..500 {
            let start = random.bits() % (4 * unit);
            let quanta = 1 + random.bits() % (3 * clock.quanta());
            let end = clock.end(P, start, quanta);
            assert!(clock.between(P, start, end) >= quanta.into());
            assert!(clock.between(P, start, end - 1) < quanta.into());
            let between = start + random.bits() % (end - start + 1);
            assert_eq!(
                clock.between(P, start, between) + clock.between(P, between, end),
                clock.between(P, start, end)
            );
            assert_eq!(clock.done(P, start, quanta, end), quanta);
        }
        let brute = |from: u64, to: u64| (from..to).map(|tick| u128::from(clock.rate(P, tick))).sum::<u128>();
        let coarse = Clock::new(&"1;1:p1=2;3:p1=0;4:p1=3".parse().unwrap(), &[], 1, 1 << 50).unwrap();
        for (from, to) in [(0, 3), (unit - 2, unit + 9), (2 * unit - 5, 2 * unit + 5)] {
            assert_eq!(clock.between(P, from, to), brute(from, to));
        }
        for start in 0..60 {
            for quanta in 1..60 {
                let mut left = i64::from(quanta);
                let end = (start..).find(|&tick| {
                    let here = left <= 0;
                    left -= coarse.rate(P, tick) as i64;
                    here
                });
                assert_eq!(Some(coarse.end(P, start, quanta as u64)), end, "{quanta} from {start}");
            }
        }
    }

    /// Many attempts at once end when they would end one by one.
    #[test]
    fn repeating_equals_doing_one_by_one() {
        let clock = clock("2;10:p1=0.5;11:p1=3;20:p1=0;25:p1=1;30:p1=2/3", 1);
        let mut random = Random::stream(2, 1);
        for _ in 0..300 {
            let since = random.bits() % (35 * clock.ticks_per_unit());
            let now = since + random.bits() % (30 * clock.ticks_per_unit());
            let each = clock.quanta() * (1 + random.bits() % 3);
            let mut expected = Repeated { count: 0, until: since, rounded: 0 };
            loop {
                let end = clock.end(P, expected.until, each);
                if end > now {
                    break;
                }
                expected.rounded += u64::from(clock.between(P, expected.until, end) > each.into());
                expected = Repeated { count: expected.count + 1, until: end, ..expected };
            }
            assert_eq!(clock.repeat(P, since, each, now), expected);
        }
    }

    #[test]
    fn bad_speeds_are_refused() {
        let two = "1,1".parse().unwrap();
        assert!(matches!(
            Clock::new(&two, &[], 3, 1),
            Err(SimulationError::SpeedCount { speeds: 2, processors: 3 })
        ));
        let stranger = Speeds::equal().change(1, ProcessorId(9), Ratio::ONE);
        assert!(matches!(Clock::new(&stranger, &[], 3, 1), Err(SimulationError::UnknownProcessor { .. })));
        let fine =
            Speeds::from_list((0..4).map(|i| Ratio::new(4_000_000_007 + 2 * i, 3_999_999_979).unwrap()));
        assert!(matches!(Clock::new(&fine, &[], 4, 1), Err(SimulationError::SpeedsTooFine)));
        let late = Speeds::equal().change(u64::MAX, P, Ratio::ONE);
        assert!(matches!(Clock::new(&late, &[], 1, 1), Err(SimulationError::SpeedsTooFine)));
        let two = [Ratio::ONE; 2];
        assert!(matches!(
            Clock::new(&Speeds::equal(), &two, 3, 1),
            Err(SimulationError::EstimateCount { .. })
        ));
    }
}
