//! How a measurement reports what it is doing. The laboratory draws nothing. The program can install something that
//! does; otherwise everything is silent.

use std::sync::OnceLock;

/// Shows the progress of one measurement until it is dropped.
pub trait Bar {
    /// Says what is measured next.
    fn doing(&self, what: String);
    /// One step is done.
    fn step(&self);
}

/// Makes a bar with this many steps.
type Maker = fn(usize) -> Box<dyn Bar>;

static MAKER: OnceLock<Maker> = OnceLock::new();

/// Shows all progress from now on with bars made by `maker`. The first call counts.
pub fn show_with(maker: Maker) {
    let _ = MAKER.set(maker);
}

/// The progress of a measurement.
pub struct Progress(Option<Box<dyn Bar>>);

impl Progress {
    /// A measurement of this many steps.
    pub fn new(steps: usize) -> Self {
        Self(MAKER.get().map(|make| make(steps)))
    }

    /// Says what is measured next.
    pub fn doing(&self, what: impl Into<String>) {
        if let Some(bar) = &self.0 {
            bar.doing(what.into());
        }
    }

    /// One step is done.
    pub fn step(&self) {
        if let Some(bar) = &self.0 {
            bar.step();
        }
    }
}
