//! [`read`]: reads a profile from bytes that may be anything.
//!
//! It never panics, and needs at most a fixed factor more memory than [`MAX_BYTES`]. What it accepts can be computed
//! with: times add up to less than 2^64, costs are finite and not negative, the burdened span is no shorter than the
//! span, and the span is hardly longer than the work plus the blocked time on it.

use crate::{Gap, Profile, ReadError, SiteProfile, VERSION};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::io::Read;

/// The longest file that is accepted.
pub const MAX_BYTES: u64 = 64 << 20;

/// More processors than any machine has.
const MAX_PROCESSORS: u32 = 1 << 16;
/// More fork sites than any program has.
const MAX_SITES: usize = 1 << 17;
/// The longest name of a file, a scheduler or a kind of site.
const MAX_NAME: usize = 1 << 12;
/// Longer than any run, in nanoseconds: 36 years. Sums over [`MAX_SITES`] or [`MAX_PROCESSORS`] saturate.
const MAX_TIME: u64 = 1 << 60;
/// More than any event costs, in nanoseconds.
const MAX_COST: f64 = 1e10;

/// The field that marks a profile.
#[derive(Deserialize)]
struct Mark {
    bombyx_profile: Option<u64>,
}

/// Reads a profile.
///
/// # Errors
/// If the bytes are not a profile of a known version whose figures make sense.
///
/// ```
/// use bombyx_profile::{ReadError, read};
///
/// assert!(matches!(read(&b""[..]), Err(ReadError::Empty)));
/// assert!(matches!(read(&b"{\"bombyx_profile\": 2}"[..]), Err(ReadError::Version(2))));
/// ```
pub fn read(from: impl Read) -> Result<Profile, ReadError> {
    let mut bytes = Vec::new();
    from.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(ReadError::Io)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(ReadError::TooLong);
    }
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err(ReadError::Empty);
    }
    if bytes.iter().find(|byte| !byte.is_ascii_whitespace()) != Some(&b'{') {
        return Err(ReadError::Malformed { reason: "it does not begin with `{`".to_owned() });
    }
    match parsed::<Mark>(&bytes)?.bombyx_profile {
        Some(VERSION) => {}
        Some(version) => return Err(ReadError::Version(version)),
        None => return Err(ReadError::NotAProfile),
    }
    let profile: Profile = parsed(&bytes)?;
    check(&profile)?;
    Ok(profile)
}

fn parsed<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, ReadError> {
    serde_json::from_slice(bytes).map_err(|error| {
        // A number that is cut off is malformed, so the parser complains about the number, not about the end.
        let last_line = bytes.rsplit(|&byte| byte == b'\n').next().unwrap_or_default();
        let lines = 1 + bytes.iter().filter(|&&byte| byte == b'\n').count();
        let at_end = error.is_syntax() && error.line() == lines && error.column() >= last_line.len();
        let complete = bytes.trim_ascii_end().ends_with(b"}");
        if error.is_eof() || (at_end && !complete) {
            ReadError::Truncated
        } else {
            // The parser quotes the file, and a terminal obeys control characters.
            let clean = error.to_string().replace(char::is_control, "?");
            ReadError::Malformed { reason: clean.chars().take(LONGEST_REASON).collect() }
        }
    })
}

/// The most characters of what the parser says.
const LONGEST_REASON: usize = 300;

fn check(profile: &Profile) -> Result<(), ReadError> {
    if let Some(companion) = &profile.companion {
        if companion.companion.is_some() {
            return Err(ReadError::Absurd {
                field: "companion".to_owned(),
                reason: "has a companion itself".to_owned(),
            });
        }
        check(companion)?;
    }
    let absurd = |field: &str, reason: String| Err(ReadError::Absurd { field: field.to_owned(), reason });
    let short = |field: &str, text: &str| match text.len() {
        0..=MAX_NAME => Ok(()),
        length => absurd(field, format!("has {length} bytes")),
    };
    let possible = |field: &str, time: u64| match time {
        0..=MAX_TIME => Ok(()),
        _ => absurd(field, format!("is {time} ns, longer than 36 years")),
    };
    short("program", &profile.program)?;
    short("scheduler", &profile.scheduler)?;
    if !(1..=MAX_PROCESSORS).contains(&profile.processors) {
        return absurd("processors", format!("is {}", profile.processors));
    }
    if profile.per_processor.len() > MAX_PROCESSORS as usize {
        return absurd("per_processor", format!("has {} entries", profile.per_processor.len()));
    }
    if profile.sites.len() > MAX_SITES {
        return absurd("sites", format!("has {} entries", profile.sites.len()));
    }
    let costs = &profile.costs;
    for (field, cost) in [
        ("costs.fork_hook_ns", costs.fork_hook_ns),
        ("costs.fork_ns", costs.fork_ns),
        ("costs.steal_ns", costs.steal_ns),
        ("costs.hand_over_ns", costs.hand_over_ns),
    ] {
        if !(0.0..=MAX_COST).contains(&cost) {
            return absurd(field, format!("is {cost}"));
        }
    }
    for (field, time) in [
        ("wall_ns", profile.wall_ns),
        ("work_ns", profile.work_ns),
        ("span_ns", profile.span_ns),
        ("burdened_span_ns", profile.burdened_span_ns),
        ("blocked_ns", profile.blocked_ns),
        ("delayed_ns", profile.delayed_ns),
    ] {
        possible(field, time)?;
    }
    profile.per_processor.iter().try_for_each(|times| possible("per_processor", times.total_ns()))?;
    for SiteProfile { file, kind, work_ns, span_ns, longest_ns, blocked_ns, asleep_ns, delayed_ns, .. } in
        &profile.sites
    {
        short("sites.file", file)?;
        short("sites.kind", kind)?;
        for (field, time) in [
            ("sites.work_ns", work_ns),
            ("sites.span_ns", span_ns),
            ("sites.longest_ns", longest_ns),
            ("sites.blocked_ns", blocked_ns),
            ("sites.asleep_ns", asleep_ns),
            ("sites.delayed_ns", delayed_ns),
        ] {
            possible(field, *time)?;
        }
    }
    if profile.gaps.len() > MAX_SITES {
        return absurd("gaps", format!("has {} entries", profile.gaps.len()));
    }
    for Gap { ns, before, after } in &profile.gaps {
        possible("gaps.ns", *ns)?;
        for place in [before, after].into_iter().flatten() {
            short("gaps", place)?;
        }
    }
    if let Some(usage) = profile.usage {
        possible("usage.cpu_ns", usage.cpu_ns)?;
        possible("usage.stolen_ns", usage.stolen_ns)?;
        possible("usage.others_ns", usage.others_ns.unwrap_or(0))?;
    }
    if profile.burdened_span_ns < profile.span_ns {
        return absurd(
            "burdened_span_ns",
            format!("is {}, below span_ns, {}", profile.burdened_span_ns, profile.span_ns),
        );
    }
    if profile.span_ns == 0 && profile.work_ns > 0 {
        return absurd("span_ns", format!("is 0 although there are {} ns of work", profile.work_ns));
    }
    // The cost of profiling is subtracted from strands as a mean, so this much may be left over.
    let whole = profile.work_ns + profile.blocked_ns;
    if profile.span_ns > whole + whole / 100 + 1000 {
        return absurd(
            "span_ns",
            format!("is {}, above work and blocked time, {whole} together", profile.span_ns),
        );
    }
    Ok(())
}
