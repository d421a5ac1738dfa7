//! Follows the events of one thread: what lies on its stack, and which processor it holds.
//!
//! The first events of a thread may be lost. If something then ends without a beginning, it began before the first event
//! that is left.

use crate::names::short_name;
use crate::reader::{Place, Thread, Trace};
use crate::timeline::{Category, Mark, Point, Slice};
use bombyx_base::trace::{Event, Kind, NONE, Region, State};
use std::collections::HashMap;

/// The names of slices.
#[derive(Default)]
pub(crate) struct Labels {
    pub(crate) names: Vec<String>,
    numbers: HashMap<String, u32>,
    /// By the code of jobs, so that long names are read only once.
    codes: HashMap<u64, u32>,
}

impl Labels {
    fn of(&mut self, name: &str) -> u32 {
        if let Some(&number) = self.numbers.get(name) {
            return number;
        }
        let number = self.names.len() as u32;
        self.names.push(name.to_owned());
        self.numbers.insert(name.to_owned(), number);
        number
    }

    fn code(&mut self, trace: &Trace, code: u64) -> u32 {
        if let Some(&number) = self.codes.get(&code) {
            return number;
        }
        let number = match trace.codes.get(&code) {
            Some(full) => self.of(&short_name(full)),
            None => self.of("job"),
        };
        self.codes.insert(code, number);
        number
    }
}

/// A pool and a processor.
pub(crate) type Processor = (u16, u16);

/// The thread took something from a processor or a list.
pub(crate) struct Steal {
    pub(crate) time: u64,
    pub(crate) from: Option<Processor>,
    pub(crate) job: u64,
}

/// The thread held a processor.
pub(crate) struct Hold {
    pub(crate) processor: Processor,
    pub(crate) from: u64,
    /// When it let go, and whether the processor rested then.
    pub(crate) to: Option<u64>,
    pub(crate) rested: bool,
}

/// A processor slept.
pub(crate) struct Rest {
    pub(crate) processor: Processor,
    pub(crate) from: u64,
    /// Until when, if the thread held the processor meanwhile. Otherwise until a thread takes hold of it.
    pub(crate) to: Option<u64>,
}

/// Two processors exchanged CPUs. The thread that did this belongs to neither.
pub(crate) struct Exchange {
    pub(crate) time: u64,
    pub(crate) between: [Processor; 2],
    pub(crate) name: u32,
}

/// What had not ended when the file was written.
pub(crate) struct StillOpen {
    pub(crate) since: u64,
    pub(crate) name: u32,
    pub(crate) category: Category,
    /// The job that it runs or waits for.
    pub(crate) job: u64,
}

/// What one thread did.
pub(crate) struct Replay {
    pub(crate) track: usize,
    pub(crate) slices: Vec<Slice>,
    /// What the processors did while the thread held them.
    pub(crate) segments: Vec<(Processor, Slice)>,
    pub(crate) marks: Vec<Mark>,
    pub(crate) exchanges: Vec<Exchange>,
    pub(crate) steals: Vec<Steal>,
    pub(crate) holds: Vec<Hold>,
    /// When which processor slept.
    pub(crate) rests: Vec<Rest>,
    /// Which processor it woke, and when.
    pub(crate) wakes: Vec<(u64, Processor)>,
    /// Which job it queued, and when.
    pub(crate) queued: Vec<(u64, u64)>,
    /// Which job it began, and when.
    pub(crate) began: Vec<(u64, u64)>,
    /// For what it waited, from when to when.
    pub(crate) waited: Vec<(u64, u64, u64)>,
    /// What has not ended, the outermost first.
    pub(crate) open: Vec<StillOpen>,
}

/// Something that has begun and not ended.
struct Open {
    ends_by: Kind,
    a: u64,
    slice: usize,
}

struct Player<'a> {
    trace: &'a Trace,
    labels: &'a mut Labels,
    out: Replay,
    stack: Vec<Open>,
    /// Slices that began before the first event, in the order of their ends: the innermost first.
    lost: Vec<Slice>,
    began: u64,
    complete: bool,
    held: Option<Processor>,
    /// The slice of a search or of parking, on top of the stack.
    top: Option<usize>,
    searching: bool,
    /// Since when the held processor sleeps.
    resting: Option<u64>,
    /// What the held processor does, and since when.
    segment: Option<(Processor, Slice)>,
    /// When something last began or ended on the stack.
    nested: u64,
}

impl Replay {
    pub(crate) fn of(trace: &Trace, thread: &Thread, track: usize, labels: &mut Labels) -> Replay {
        let out = Replay {
            track,
            slices: Vec::new(),
            segments: Vec::new(),
            marks: Vec::new(),
            exchanges: Vec::new(),
            steals: Vec::new(),
            holds: Vec::new(),
            rests: Vec::new(),
            wakes: Vec::new(),
            queued: Vec::new(),
            began: Vec::new(),
            waited: Vec::new(),
            open: Vec::new(),
        };
        let began = thread.events.first().map_or(0, |event| trace.ns(event.time));
        let complete = thread.lost == 0;
        let (stack, lost) = (Vec::new(), Vec::new());
        let mut player = Player {
            trace,
            labels,
            out,
            stack,
            lost,
            began,
            complete,
            held: None,
            top: None,
            searching: false,
            resting: None,
            segment: None,
            nested: began,
        };
        for event in &thread.events {
            player.play(event);
        }
        let last = thread.events.last().map_or(0, |event| event.time);
        player.end(trace.ns(trace.ended.max(last)))
    }
}

/// The file without its folders, and the line.
fn short_place(place: &Place) -> String {
    let file = place.file.rsplit(['/', '\\']).next().unwrap_or_default();
    format!("{file}:{}", place.line)
}

impl Player<'_> {
    fn play(&mut self, event: &Event) {
        let now = self.trace.ns(event.time);
        let here = (event.pool, event.processor);
        let at = Point { track: self.out.track, time: now };
        self.deduce_hold(event, now);
        match event.kind {
            Kind::TakesHold => self.take_hold(here, now),
            Kind::LetsGo => self.let_go(now),
            Kind::State => self.change(State::from_number(u64::from(event.other)), here, now),
            Kind::Steals => {
                let from = (event.other != NONE).then_some((event.pool, event.other));
                self.out.steals.push(Steal { time: now, from, job: event.a });
            }
            Kind::Wakes => self.out.wakes.push((now, here)),
            Kind::Queues => self.out.queued.push((now, event.a)),
            Kind::Mark => {
                let name = self.text(event.a);
                self.out.marks.push(Mark { at, name });
            }
            Kind::Mugs => {
                let name = self.labels.of(&format!(
                    "processor {} exchanges CPUs with processor {}",
                    event.processor, event.other
                ));
                let between = [here, (event.pool, event.other)];
                self.out.exchanges.push(Exchange { time: now, between, name });
            }
            Kind::Begins => {
                self.out.began.push((event.a, now));
                let name = self.labels.code(self.trace, event.b);
                self.open(Kind::Ends, event.a, name, Category::Run, now);
            }
            Kind::Waits => {
                let name = self.labels.of("wait");
                self.open(Kind::GoesOn, event.a, name, Category::Wait, now);
            }
            Kind::Blocks => {
                let name = self.labels.of("blocking");
                self.open(Kind::Unblocks, 0, name, Category::Blocked, now);
            }
            Kind::Enters => {
                let name = self.region(event);
                self.open(Kind::Leaves, 0, name, Category::Region, now);
            }
            Kind::Opens => {
                let name = self.text(event.a);
                self.open(Kind::Closes, event.a, name, Category::Phase, now);
            }
            Kind::Ends | Kind::GoesOn | Kind::Unblocks | Kind::Leaves | Kind::Closes => {
                self.close(event, now)
            }
            Kind::Strand => self.strand(event, now),
        }
    }

    /// A strand is known only when it ends. A phase may begin or end in the middle of it; then the part after that is
    /// shown.
    fn strand(&mut self, event: &Event, now: u64) {
        let began = self.trace.ns(event.b).max(self.nested);
        if began >= now {
            return;
        }
        let name = match self.trace.places.get(&event.a) {
            Some(place) => self.labels.of(&format!("strand {}", short_place(place))),
            None => self.labels.of("strand"),
        };
        let slice = self.begin_slice(name, Category::Run, began);
        self.out.slices[slice].end = now;
        self.nested = now;
    }

    fn text(&mut self, number: u64) -> u32 {
        match self.trace.texts.get(&number) {
            Some(text) => self.labels.of(text),
            None => self.labels.of("(unknown text)"),
        }
    }

    fn region(&mut self, event: &Event) -> u32 {
        let region = Region::from_number(u64::from(event.other)).map_or("region", Region::name);
        match self.trace.places.get(&event.a) {
            Some(place) => self.labels.of(&format!("{region} {}", short_place(place))),
            None => self.labels.of(region),
        }
    }

    /// If the beginning is lost, an event that only a holder tells shows which processor the thread holds.
    fn deduce_hold(&mut self, event: &Event, now: u64) {
        let told_by_holder = matches!(event.kind, Kind::Begins | Kind::Ends | Kind::Steals | Kind::LetsGo);
        if !self.complete && self.out.holds.is_empty() && told_by_holder && event.processor != NONE {
            let processor = (event.pool, event.processor);
            self.out.holds.push(Hold { processor, from: self.began, to: None, rested: false });
            self.held = Some(processor);
            self.relabel(now);
        }
    }

    fn take_hold(&mut self, processor: Processor, now: u64) {
        self.end_top(now);
        self.end_rest(now);
        self.held = Some(processor);
        self.searching = false;
        self.out.holds.push(Hold { processor, from: now, to: None, rested: false });
        self.relabel(now);
    }

    fn let_go(&mut self, now: u64) {
        self.end_top(now);
        self.end_rest(now);
        self.held = None;
        self.relabel(now);
        if let Some(hold) = self.out.holds.last_mut() {
            hold.to = Some(now);
        }
        if self.stack.last().is_some_and(|open| open.ends_by == Kind::GoesOn) {
            let name = self.labels.of("without a processor");
            self.begin_top(name, Category::Parked, now);
        }
    }

    fn change(&mut self, state: Option<State>, processor: Processor, now: u64) {
        let resting = state == Some(State::Idle);
        if self.held != Some(processor) {
            if resting {
                self.out.rests.push(Rest { processor, from: now, to: None });
                if let Some(hold) = self.out.holds.last_mut()
                    && hold.processor == processor
                {
                    hold.rested = true;
                }
            }
            return;
        }
        let searching = state == Some(State::Search);
        if searching != self.searching || resting != self.resting.is_some() {
            self.end_top(now);
            self.end_rest(now);
            self.resting = resting.then_some(now);
            self.searching = searching;
            if searching {
                let name = self.labels.of("search");
                self.begin_top(name, Category::Search, now);
            }
            self.relabel(now);
        }
    }

    fn end_rest(&mut self, now: u64) {
        if let (Some(from), Some(processor)) = (self.resting.take(), self.held) {
            self.out.rests.push(Rest { processor, from, to: Some(now) });
        }
    }

    fn begin_top(&mut self, name: u32, category: Category, now: u64) {
        self.top = Some(self.begin_slice(name, category, now));
    }

    fn end_top(&mut self, now: u64) {
        if let Some(top) = self.top.take() {
            self.out.slices[top].end = now;
            self.nested = now;
        }
    }

    fn begin_slice(&mut self, name: u32, category: Category, now: u64) -> usize {
        self.nested = self.nested.max(now);
        let depth = u16::try_from(self.stack.len()).unwrap_or(u16::MAX);
        self.out.slices.push(Slice { start: now, end: u64::MAX, name, category, depth });
        self.out.slices.len() - 1
    }

    fn open(&mut self, ends_by: Kind, a: u64, name: u32, category: Category, now: u64) {
        self.end_top(now);
        self.end_rest(now);
        self.searching = false;
        let slice = self.begin_slice(name, category, now);
        self.stack.push(Open { ends_by, a, slice });
        self.relabel(now);
    }

    fn close(&mut self, event: &Event, now: u64) {
        self.end_top(now);
        self.end_rest(now);
        self.nested = now;
        self.searching = false;
        let named = matches!(event.kind, Kind::Ends | Kind::Closes);
        let matches = |open: &Open| open.ends_by == event.kind && (!named || open.a == event.a);
        match self.stack.iter().rposition(matches) {
            Some(at) => {
                for open in self.stack.drain(at..) {
                    self.out.slices[open.slice].end = now;
                    if open.ends_by == Kind::GoesOn {
                        self.out.waited.push((open.a, self.out.slices[open.slice].start, now));
                    }
                }
            }
            None if !self.complete => {
                for open in self.stack.drain(..) {
                    self.out.slices[open.slice].end = now;
                }
                let (name, category) = self.begun_before(event);
                self.lost.push(Slice { start: self.began, end: now, name, category, depth: 0 });
            }
            None => {}
        }
        self.relabel(now);
    }

    /// What has ended although nobody saw it begin.
    fn begun_before(&mut self, event: &Event) -> (u32, Category) {
        let (name, category) = match event.kind {
            Kind::GoesOn => ("wait", Category::Wait),
            Kind::Unblocks => ("blocking", Category::Blocked),
            Kind::Leaves => ("region", Category::Region),
            Kind::Closes => return (self.text(event.a), Category::Phase),
            _ => ("job", Category::Run),
        };
        (self.labels.of(name), category)
    }

    /// Notes what the held processor does from now on.
    fn relabel(&mut self, now: u64) {
        let label = self.held.filter(|_| self.resting.is_none()).map(|processor| {
            let (name, category) = match self.stack.last() {
                _ if self.searching => (self.labels.of("search"), Category::Search),
                Some(open) => {
                    let slice = self.out.slices[open.slice];
                    (slice.name, slice.category)
                }
                None => (self.labels.of("between"), Category::Search),
            };
            (processor, name, category)
        });
        let same = match (&self.segment, label) {
            (Some((processor, slice)), Some(label)) => (*processor, slice.name, slice.category) == label,
            (None, None) => true,
            _ => false,
        };
        if same {
            return;
        }
        self.end_segment(now);
        self.segment = label.map(|(processor, name, category)| {
            (processor, Slice { start: now, end: u64::MAX, name, category, depth: 0 })
        });
    }

    fn end_segment(&mut self, now: u64) {
        if let Some((processor, slice)) = self.segment.take()
            && slice.start < now
        {
            self.out.segments.push((processor, Slice { end: now, ..slice }));
        }
    }

    /// What has not ended when the file was written ends there.
    fn end(mut self, now: u64) -> Replay {
        self.end_top(now);
        self.end_rest(now);
        for open in std::mem::take(&mut self.stack) {
            let slice = &mut self.out.slices[open.slice];
            let Slice { start: since, name, category, .. } = *slice;
            self.out.open.push(StillOpen { since, name, category, job: open.a });
            slice.end = now;
        }
        self.end_segment(now);
        let outer = u16::try_from(self.lost.len()).unwrap_or(u16::MAX);
        if outer > 0 {
            // Those that ended later lie outside of the others.
            let mut slices = std::mem::take(&mut self.lost);
            slices.reverse();
            for (depth, slice) in slices.iter_mut().enumerate() {
                slice.depth = u16::try_from(depth).unwrap_or(u16::MAX);
            }
            let ends: Vec<u64> = slices.iter().map(|slice| slice.end).collect();
            for mut slice in std::mem::take(&mut self.out.slices) {
                let around = ends.iter().filter(|&&end| end >= slice.end && end > slice.start).count();
                slice.depth = slice.depth.saturating_add(u16::try_from(around).unwrap_or(u16::MAX));
                slices.push(slice);
            }
            self.out.slices = slices;
        }
        self.out
    }
}
