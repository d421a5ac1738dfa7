//! Virtual time: how long a processor of a given speed takes, exactly and in integers.
//!
//! A unit instruction is [`Clock::quanta`] quanta of work; a processor of speed π does a whole number of quanta per
//! tick that is proportional to π, and the quanta of an instruction are a multiple of all those numbers. So every
//! processor executes an instruction in a whole number of ticks, and instructions that are not interrupted never
//! suffer from rounding. When a thread moves in the middle of an instruction (HET's migrations and muggings), the
//! rest of the instruction is rounded up to a tick of its new processor; with unequal speeds a tick is at most
//! about a millionth of a step.
//!
//! With equal, constant speeds of 1 a tick is BL's time step.
//!
//! A change of speed takes effect with the first instruction (or steal attempt) that begins at or after its time.

use crate::ratio::gcd;
use crate::speeds::Speeds;
use crate::{ProcessorId, Ratio, SimulationError};

/// One stretch of constant speed.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    /// The first tick of the stretch.
    from: u64,
    /// Quanta per tick.
    rate: u64,
}

/// Converts between work and time for every processor.
#[derive(Clone, Debug)]
pub(crate) struct Clock {
    quanta: u64,
    ticks_per_unit: u64,
    /// Each processor's stretches in the order of time; the first begins at 0.
    stretches: Vec<Vec<Stretch>>,
}

/// With unequal speeds an instruction has at least this many quanta, unless the run is too long for that.
const FINE: u64 = 1 << 20;

impl Clock {
    pub(crate) fn new(speeds: &Speeds, processors: usize, work: u64) -> Result<Self, SimulationError> {
        let list = speeds.list().map_or_else(|| vec![Ratio::ONE; processors], <[Ratio]>::to_vec);
        if list.len() != processors {
            return Err(SimulationError::SpeedCount { speeds: list.len(), processors });
        }
        let mut changes = speeds.changes().to_vec();
        changes.sort_by_key(|&(at, ..)| at);
        if let Some(&(_, stranger, _)) = changes.iter().find(|(_, p, _)| p.index() >= processors) {
            return Err(SimulationError::UnknownProcessor { processor: stranger, processors });
        }
        let all = || list.iter().copied().chain(changes.iter().map(|&(.., speed)| speed));
        let common =
            lcm_of(all().map(|s| u64::from(s.denominator()))).ok_or(SimulationError::SpeedsTooFine)?;
        let rate = |speed: Ratio| u64::from(speed.numerator()) * (common / u64::from(speed.denominator()));
        let least = lcm_of(all().map(rate).chain([common])).ok_or(SimulationError::SpeedsTooFine)?;
        let slowest = all().map(rate).min().unwrap_or(1);
        let equal = all().all(|speed| speed == list[0]);
        let fits = |quanta: u64| u128::from(quanta) * u128::from(work) / u128::from(slowest) < 1 << 61;
        if !fits(least) {
            return Err(SimulationError::SpeedsTooFine);
        }
        let mut quanta = least;
        while !equal && quanta < FINE && fits(quanta * 2) {
            quanta *= 2;
        }
        let ticks_per_unit = quanta / common;
        let mut stretches: Vec<Vec<Stretch>> =
            list.iter().map(|&speed| vec![Stretch { from: 0, rate: rate(speed) }]).collect();
        for (at, processor, speed) in changes {
            let from = at.checked_mul(ticks_per_unit).ok_or(SimulationError::SpeedsTooFine)?;
            stretches[processor.index()].push(Stretch { from, rate: rate(speed) });
        }
        Ok(Self { quanta, ticks_per_unit, stretches })
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

    /// The lowest and the highest rate of any processor at any time.
    pub(crate) fn rates(&self) -> (u64, u64) {
        let rates = || self.stretches.iter().flatten().map(|s| s.rate);
        (rates().min().unwrap_or(1), rates().max().unwrap_or(1))
    }

    /// Whether every processor always executes exactly one instruction per tick.
    pub(crate) fn steps_are_ticks(&self) -> bool {
        self.rates() == (self.quanta, self.quanta)
    }

    /// The ticks at which some processor changes its speed.
    pub(crate) fn changes(&self) -> impl Iterator<Item = u64> {
        self.stretches.iter().flat_map(|stretches| stretches[1..].iter().map(|s| s.from))
    }

    /// When a processor that begins at `start` has done `quanta` of work, of which the first may complete an
    /// interrupted instruction.
    #[inline]
    pub(crate) fn end(&self, p: ProcessorId, start: u64, quanta: u64) -> u64 {
        let stretches = &self.stretches[p.index()];
        if let [only] = stretches.as_slice() {
            return start + quanta.div_ceil(only.rate);
        }
        let mut walk = Walk::new(self, stretches, start, quanta);
        while walk.left > 0 {
            walk.advance(u64::MAX);
        }
        walk.tick
    }

    /// How much of `quanta` a processor that began at `start` has done by `now`.
    pub(crate) fn done(&self, p: ProcessorId, start: u64, quanta: u64, now: u64) -> u64 {
        let stretches = &self.stretches[p.index()];
        if let [only] = stretches.as_slice() {
            let (ticks, rest) = (now - start, quanta % self.quanta);
            let first = rest.div_ceil(only.rate);
            return match ticks.checked_sub(first) {
                None => ticks * only.rate,
                Some(ticks) => ticks.saturating_mul(only.rate).saturating_add(rest).min(quanta),
            };
        }
        let mut walk = Walk::new(self, stretches, start, quanta);
        while walk.left > 0 && walk.tick < now {
            walk.advance(now);
        }
        let into = now.saturating_sub(walk.began) * walk.rate;
        if walk.tick > now {
            quanta - walk.left - (walk.last - into.min(walk.last))
        } else {
            quanta - walk.left
        }
    }

    /// How many whole instructions the processor could execute until `tick`, from the beginning.
    pub(crate) fn capacity(&self, p: ProcessorId, tick: u64) -> u64 {
        self.done(p, 0, (u64::MAX >> 1) / self.quanta * self.quanta, tick) / self.quanta
    }
}

/// A processor's way through its stretches, instruction by instruction, in jumps of whole stretches.
struct Walk<'a> {
    stretches: &'a [Stretch],
    quanta: u64,
    tick: u64,
    left: u64,
    /// The last instruction passed: when it began, its size and its rate.
    began: u64,
    last: u64,
    rate: u64,
}

impl<'a> Walk<'a> {
    fn new(clock: &Clock, stretches: &'a [Stretch], start: u64, left: u64) -> Self {
        Self { stretches, quanta: clock.quanta, tick: start, left, began: start, last: 0, rate: 1 }
    }

    /// Executes the rest of a begun instruction, or whole instructions until one ends at or after the next change
    /// of speed or `until`.
    fn advance(&mut self, until: u64) {
        let here = stretch_at(self.stretches, self.tick);
        let rate = self.stretches[here].rate;
        let partial = self.left % self.quanta;
        let (size, count) = if partial > 0 {
            (partial, 1)
        } else {
            let change = self.stretches.get(here + 1).map_or(u64::MAX, |next| next.from).min(until);
            let begun = (change - self.tick).div_ceil(self.quanta / rate).max(1);
            (self.quanta, begun.min(self.left / self.quanta))
        };
        let ticks = size.div_ceil(rate);
        self.tick += ticks * count;
        self.left -= size * count;
        (self.began, self.last, self.rate) = (self.tick - ticks, size, rate);
    }
}

fn stretch_at(stretches: &[Stretch], tick: u64) -> usize {
    stretches.partition_point(|s| s.from <= tick) - 1
}

fn lcm_of(numbers: impl Iterator<Item = u64>) -> Option<u64> {
    numbers.into_iter().try_fold(1u64, |l, n| (l / gcd(l, n)).checked_mul(n))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    const P: ProcessorId = ProcessorId(0);

    #[test]
    fn equal_speeds_make_a_tick_a_step() {
        let clock = Clock::new(&Speeds::equal(), 3, 100).unwrap();
        assert_eq!((clock.quanta(), clock.ticks_per_unit()), (1, 1));
        assert_eq!(clock.end(P, 5, 7), 12);
        assert_eq!(clock.capacity(P, 12), 12);
    }

    #[test]
    fn instructions_take_whole_ticks_on_every_processor() {
        let speeds =
            Speeds::from_list(["3".parse().unwrap(), "1.5".parse().unwrap(), "5/7".parse().unwrap()]);
        let clock = Clock::new(&speeds, 3, 100).unwrap();
        for p in (0..3).map(ProcessorId) {
            assert_eq!(clock.quanta() % clock.rate(p, 0), 0);
        }
        assert_eq!(clock.end(ProcessorId(0), 0, 3 * clock.quanta()), clock.ticks_per_unit());
        assert_eq!(clock.end(ProcessorId(1), 0, 3 * clock.quanta()), 2 * clock.ticks_per_unit());
    }

    /// Walking in jumps must equal walking one instruction at a time.
    #[test]
    fn jumps_equal_single_instructions() {
        let speeds: Speeds = "2;10:p1=0.5;11:p1=3;30:p1=2/3".parse().unwrap();
        let clock = Clock::new(&speeds, 1, 1000).unwrap();
        let mut random = Random::new(1, 1);
        for _ in 0..500 {
            let start = random.bits() % (40 * clock.ticks_per_unit());
            let quanta = 1 + random.bits() % (60 * clock.quanta());
            let (mut tick, mut left) = (start, quanta);
            while left > 0 {
                let size = if left % clock.quanta() > 0 { left % clock.quanta() } else { clock.quanta() };
                tick += size.div_ceil(clock.rate(P, tick));
                left -= size;
            }
            assert_eq!(clock.end(P, start, quanta), tick, "from {start}, {quanta} quanta");
            assert_eq!(clock.done(P, start, quanta, tick), quanta);
            assert!(clock.done(P, start, quanta, tick - 1) < quanta);
            let between = start + random.bits() % (tick - start + 1);
            let done = clock.done(P, start, quanta, between);
            assert!(done <= clock.done(P, start, quanta, tick.min(between + 1)));
            assert!(clock.end(P, between, quanta - done).abs_diff(tick) <= 3 * clock.ticks_per_unit());
        }
    }

    #[test]
    fn bad_speeds_are_refused() {
        let two = "1,1".parse().unwrap();
        assert!(matches!(
            Clock::new(&two, 3, 1),
            Err(SimulationError::SpeedCount { speeds: 2, processors: 3 })
        ));
        let stranger = Speeds::equal().change(1, ProcessorId(9), Ratio::ONE);
        assert!(matches!(Clock::new(&stranger, 3, 1), Err(SimulationError::UnknownProcessor { .. })));
        let fine =
            Speeds::from_list((0..4).map(|i| Ratio::new(4_000_000_007 + 2 * i, 3_999_999_979).unwrap()));
        assert!(matches!(Clock::new(&fine, 4, 1), Err(SimulationError::SpeedsTooFine)));
    }
}
