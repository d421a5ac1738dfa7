//! The screen of `bombyx top`, and its keys.

use super::table;
use crate::text::counted;
use bombyx_lab::live::Reading;
use ratatui::Frame;
use ratatui::crossterm::event::{Event, KeyCode, KeyEventKind, KeyModifiers};
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use std::collections::{HashMap, VecDeque};

/// What follows from a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Stay,
    Leave,
    /// Leave, and interrupt the program if `bombyx top` has started it.
    Interrupt,
}

/// The order of the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sort {
    Number,
    Busy,
    Steals,
}

impl Sort {
    fn next(self) -> Self {
        match self {
            Self::Number => Self::Busy,
            Self::Busy => Self::Steals,
            Self::Steals => Self::Number,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Number => "number",
            Self::Busy => "busy",
            Self::Steals => "steals",
        }
    }
}

/// How many readings of the past the screen keeps for each processor.
const PAST: usize = 120;

/// The shares of the past, by pool and processor.
pub(super) type Past = HashMap<(u64, usize), VecDeque<f64>>;

/// See the module text.
pub(super) struct Screen {
    pub(super) reading: Option<Reading>,
    pub(super) past: Past,
    /// How the program ended, once it has.
    pub(super) ended: Option<String>,
    pub(super) sort: Sort,
    /// How many rows are above those that are shown.
    pub(super) above: usize,
    pub(super) coloured: bool,
    paused: bool,
    explains: bool,
    pool: usize,
}

/// Below this, there is no room for anything.
const SMALLEST: (u16, u16) = (20, 5);

const KEYS: &[(&str, &str)] = &[
    ("q, Esc", "leave; the program goes on"),
    ("Ctrl-C", "leave; interrupt the program if bombyx top has started it"),
    ("p, space", "pause the screen; the program goes on"),
    ("s", "sort by number, by busy time, or by steals"),
    ("up, down", "move through the processors; also PgUp, PgDn, Home"),
    ("left, right", "choose another pool; also Tab"),
    ("?", "show or hide these lines"),
];

const WORDS: &[(&str, &str)] = &[
    ("busy", "runs closures"),
    ("helping", "runs a part of what its thread waits for"),
    ("searching", "looks for closures to run"),
    ("waiting", "waits, and finds nothing to help with"),
    ("blocked", "is in `blocking` (fixed threads)"),
    ("resting", "has nothing to do"),
];

impl Screen {
    pub(super) fn new(coloured: bool) -> Self {
        Self {
            reading: None,
            past: HashMap::new(),
            ended: None,
            sort: Sort::Number,
            above: 0,
            coloured,
            paused: false,
            explains: false,
            pool: 0,
        }
    }

    /// A new reading. While the screen is paused, nothing changes, and the past has a gap.
    pub(super) fn take(&mut self, reading: Reading) {
        if self.paused {
            return;
        }
        let alive = |pool: u64| reading.pools.iter().any(|known| known.pool == pool);
        self.past.retain(|&(pool, _), _| alive(pool));
        for pool in &reading.pools {
            for (index, processor) in pool.processors.iter().enumerate() {
                let past = self.past.entry((pool.pool, index)).or_default();
                past.push_back(processor.runs());
                if past.len() > PAST {
                    past.pop_front();
                }
            }
        }
        self.reading = Some(reading);
    }

    /// What follows from a key, or from another size.
    pub(super) fn event(&mut self, event: &Event) -> Step {
        let Event::Key(key) = event else { return Step::Stay };
        if key.kind == KeyEventKind::Release {
            return Step::Stay;
        }
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('c') if control => return Step::Interrupt,
            KeyCode::Esc if self.explains => self.explains = false,
            KeyCode::Char('q') | KeyCode::Esc => return Step::Leave,
            KeyCode::Char('p' | ' ') => self.paused = !self.paused,
            KeyCode::Char('s') => self.sort = self.sort.next(),
            KeyCode::Char('?' | 'h') => self.explains = !self.explains,
            KeyCode::Up => self.above = self.above.saturating_sub(1),
            KeyCode::Down => self.above += 1,
            KeyCode::PageUp => self.above = self.above.saturating_sub(10),
            KeyCode::PageDown => self.above += 10,
            KeyCode::Home => self.above = 0,
            KeyCode::Right | KeyCode::Tab => self.pool += 1,
            KeyCode::Left | KeyCode::BackTab => {
                self.pool = self.pool.checked_sub(1).unwrap_or(self.pools().saturating_sub(1));
            }
            _ => {}
        }
        self.pool %= self.pools().max(1);
        Step::Stay
    }

    fn pools(&self) -> usize {
        self.reading.as_ref().map_or(0, |reading| reading.pools.len())
    }

    pub(super) fn draw(&mut self, frame: &mut Frame) {
        let area = frame.area();
        if area.width < SMALLEST.0 || area.height < SMALLEST.1 {
            return frame.render_widget(Line::from("too small"), area);
        }
        let mut lines = self.lines(area);
        lines.truncate(usize::from(area.height) - 1);
        for (row, line) in lines.into_iter().enumerate() {
            let place = Rect { y: area.y + row as u16, height: 1, ..area };
            frame.render_widget(line, place);
        }
        let last = Rect { y: area.bottom() - 1, height: 1, ..area };
        frame.render_widget(self.foot(usize::from(area.width)), last);
    }

    fn lines(&mut self, area: Rect) -> Vec<Line<'static>> {
        if self.explains {
            return explanation(usize::from(area.width));
        }
        let Some(reading) = &self.reading else {
            return vec![Line::from(" waiting for the program's first pool")];
        };
        let head = format!(" {}, process {}, {:.0} s", reading.program, reading.process, reading.seconds);
        self.pool = self.pool.min(reading.pools.len().saturating_sub(1));
        let Some(pool) = reading.pools.get(self.pool) else {
            return vec![bold(head), Line::from(" no pool now")];
        };
        let mut lines = vec![bold(head)];
        let which = match reading.pools.len() {
            1 => String::new(),
            all => format!("pool {} of {all}, ", self.pool + 1),
        };
        let fixed = if pool.fixed_threads { ", fixed threads" } else { "" };
        lines.push(Line::from(format!(
            " {which}{}{fixed}, {}{}{}",
            pool.scheduler,
            match pool.processors.len() as u64 {
                all if all == pool.in_service => String::new(),
                _ => format!("{} in service of ", pool.in_service),
            },
            counted(pool.processors.len() as u64, "processor"),
            match reading.left_out {
                0 => String::new(),
                more => format!("; {more} more pools had no room on the board"),
            }
        )));
        lines.extend(table::figures(pool, usize::from(area.width)).into_iter().map(Line::from));
        let left = usize::from(area.height).saturating_sub(lines.len() + 1);
        // The closures get a third of what is left, if there is room for both.
        let closures = if left >= 8 { (left / 3).min(pool.closures.len() + 1) } else { 0 };
        let rows = left.saturating_sub(closures + 1);
        self.above = self.above.min(pool.processors.len().saturating_sub(rows.max(1)));
        let order = table::Order { sort: self.sort, above: self.above, rows, coloured: self.coloured };
        lines.extend(table::processors(pool, &self.past, order, usize::from(area.width)));
        if closures > 0 {
            lines.extend(table::closures(pool, closures, usize::from(area.width)));
        }
        lines
    }

    fn foot(&self, width: usize) -> Line<'static> {
        let text = match (&self.ended, self.paused) {
            (Some(ended), _) => format!(" {ended}; q leaves"),
            (None, true) => " paused; p goes on".to_owned(),
            (None, false) if width < 60 => " q leaves  ? keys".to_owned(),
            (None, false) => {
                format!(" q leaves  p pauses  s sorts (by {})  arrows move  ? explains", self.sort.name())
            }
        };
        Line::from(Span::styled(text, Style::default().add_modifier(Modifier::REVERSED)))
    }
}

fn bold(text: String) -> Line<'static> {
    Line::from(Span::styled(text, Style::default().add_modifier(Modifier::BOLD)))
}

fn explanation(width: usize) -> Vec<Line<'static>> {
    let told = KEYS.iter().map(|(key, what)| format!(" {key:<11} {what}"));
    let words = WORDS.iter().map(|(word, what)| format!(" {word:<11} {what}"));
    let note = " Shares and history are estimates from about 200 looks a second.".to_owned();
    let lines = told.chain([String::new()]).chain(words).chain([note]);
    lines.map(|line| Line::from(table::cut(&line, width))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use bombyx_lab::live::{ClosureReading, Doing, PoolReading, ProcessorReading};
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;
    use ratatui::crossterm::event::KeyEvent;

    fn processor(now: Doing, busy: f64, steals: f64) -> ProcessorReading {
        let mut shares = [0.0; 6];
        shares[Doing::Busy as usize] = busy;
        shares[Doing::Resting as usize] = 1.0 - busy;
        ProcessorReading {
            now,
            closure: (now == Doing::Busy).then(|| "sort::merge".to_owned()),
            site: None,
            shares,
            steals_per_second: steals,
            hand_overs_per_second: 0.0,
        }
    }

    fn reading(processors: usize) -> Reading {
        let doing = |index: usize| Doing::ALL[index % 6];
        let processors: Vec<_> = (0..processors)
            .map(|index| processor(doing(index), 1.0 - index as f64 / processors as f64, index as f64))
            .collect();
        let closure = |site: Option<&str>, name: Option<&str>, share| {
            let [site, name] = [site, name].map(|text| text.map(str::to_owned));
            ClosureReading { name, site, share }
        };
        let pool = |number, processors| PoolReading {
            pool: number,
            scheduler: "work-stealing".to_owned(),
            fixed_threads: false,
            queue: 3,
            carriers: 9,
            blocked_threads: 1,
            in_service: 8,
            steals_per_second: 12345.6,
            hand_overs_per_second: 7.0,
            sleeps_per_second: 0.0,
            processors,
            closures: vec![
                closure(Some("src/sort.rs:41"), Some("sort::merge"), 0.5),
                closure(None, Some("sort::split"), 0.25),
                closure(None, None, 0.25),
            ],
        };
        Reading {
            process: 4242,
            program: "sort".to_owned(),
            seconds: 12.0,
            looks: 200,
            pools: vec![pool(1, processors), pool(2, vec![processor(Doing::Resting, 0.0, 0.0)])],
            left_out: 0,
        }
    }

    fn shown_with(change: impl Fn(&mut Reading)) -> String {
        let mut screen = Screen::new(false);
        let mut reading = reading(8);
        change(&mut reading);
        screen.take(reading);
        shown(&mut screen, 110, 30)
    }

    fn shown(screen: &mut Screen, width: u16, height: u16) -> String {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| screen.draw(frame)).unwrap();
        let buffer = terminal.backend().buffer().clone();
        let row = |y| (0..width).map(|x| buffer[(x, y)].symbol()).collect::<String>().trim_end().to_owned();
        (0..height).map(row).collect::<Vec<_>>().join("\n")
    }

    fn press(screen: &mut Screen, code: KeyCode) -> Step {
        screen.event(&Event::Key(KeyEvent::new(code, KeyModifiers::NONE)))
    }

    #[test]
    fn the_screen_shows_what_the_reading_says() {
        let mut screen = Screen::new(false);
        assert!(shown(&mut screen, 80, 24).contains("waiting for the program's first pool"));
        (0..3).for_each(|_| screen.take(reading(8)));
        let text = shown(&mut screen, 110, 30);
        let fewer = shown_with(|reading| reading.pools[0].in_service = 3);
        assert!(fewer.contains("work-stealing, 3 in service of 8 processors"), "{fewer}");
        let has = [
            "sort, process 4242, 12 s",
            "pool 1 of 2, work-stealing, 8 processors",
            "12,346 steals/s",
            "7 hand-overs/s",
            "queue 3",
            "9 carriers",
            "1 in blocking",
            "searching",
            "helping",
            "resting",
            "100 %",
            "███",
            "sort::merge",
            "50 %  src/sort.rs:41  sort::merge",
            "25 %  sort::split",
            "unknown",
            "q leaves",
        ];
        for part in has {
            assert!(text.contains(part), "{part}:\n{text}");
        }
    }

    #[test]
    fn every_size_is_drawn_and_tiny_ones_say_so() {
        let mut screen = Screen::new(true);
        screen.take(reading(100));
        for width in 1..130 {
            for height in [1, 2, 4, 5, 6, 9, 10, 24, 60] {
                let text = shown(&mut screen, width, height);
                let tiny = width < 20 || height < 5;
                assert_eq!(text.contains("too small"), tiny && width >= 9, "{width} × {height}:\n{text}");
                assert!(tiny || text.contains("sort"), "{width} × {height}:\n{text}");
            }
        }
        let narrow = shown(&mut screen, 20, 5);
        assert!(narrow.contains("q leaves"), "{narrow}");
    }

    #[test]
    fn keys_do_what_the_foot_says() {
        let mut screen = Screen::new(false);
        screen.take(reading(4));
        let first = |screen: &mut Screen| {
            let text = shown(screen, 100, 20);
            let at = text.lines().position(|line| line.contains("now")).unwrap();
            text.lines().nth(at + 1).unwrap().split_whitespace().next().unwrap().to_owned()
        };
        assert_eq!(first(&mut screen), "0");
        press(&mut screen, KeyCode::Char('s'));
        assert_eq!(first(&mut screen), "0", "the busiest");
        press(&mut screen, KeyCode::Char('s'));
        assert_eq!(first(&mut screen), "3", "the one that stole most");
        press(&mut screen, KeyCode::Char('s'));
        press(&mut screen, KeyCode::Right);
        assert!(shown(&mut screen, 100, 20).contains("pool 2 of 2"));
        press(&mut screen, KeyCode::Right);
        assert!(shown(&mut screen, 100, 20).contains("pool 1 of 2"));
        press(&mut screen, KeyCode::Left);
        assert!(shown(&mut screen, 100, 20).contains("pool 2 of 2"));
        press(&mut screen, KeyCode::Tab);

        press(&mut screen, KeyCode::Char('p'));
        let mut later = reading(4);
        later.seconds = 99.0;
        screen.take(later.clone());
        let text = shown(&mut screen, 100, 20);
        assert!(text.contains("12 s") && text.contains("paused"), "{text}");
        press(&mut screen, KeyCode::Char('p'));
        screen.take(later);
        assert!(shown(&mut screen, 100, 20).contains("99 s"));

        press(&mut screen, KeyCode::Char('?'));
        assert!(shown(&mut screen, 100, 24).contains("looks for closures to run"));
        assert_eq!(press(&mut screen, KeyCode::Esc), Step::Stay);
        assert_eq!(press(&mut screen, KeyCode::Char('q')), Step::Leave);
        let control = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
        assert_eq!(screen.event(&Event::Key(control)), Step::Interrupt);
        assert_eq!(screen.event(&Event::Resize(3, 3)), Step::Stay);
    }

    #[test]
    fn rows_scroll_and_stay_in_reach() {
        let mut screen = Screen::new(false);
        screen.take(reading(100));
        for _ in 0..1000 {
            press(&mut screen, KeyCode::PageDown);
        }
        let text = shown(&mut screen, 100, 20);
        assert!(text.lines().any(|line| line.trim_start().starts_with("99 ")), "{text}");
        press(&mut screen, KeyCode::Home);
        let text = shown(&mut screen, 100, 20);
        assert!(text.lines().any(|line| line.trim_start().starts_with("0 ")), "{text}");
    }

    #[test]
    fn the_end_is_told() {
        let mut screen = Screen::new(false);
        screen.take(reading(2));
        screen.ended = Some("the program was ended by signal 11".to_owned());
        assert!(shown(&mut screen, 80, 24).contains("the program was ended by signal 11; q leaves"));
        let mut gone = reading(2);
        gone.pools.clear();
        screen.take(gone);
        assert!(shown(&mut screen, 80, 24).contains("no pool now"));
        assert!(screen.past.is_empty());
    }
}
