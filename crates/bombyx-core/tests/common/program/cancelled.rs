//! Parts of a random program that are cancelled while they run. Which of their closures run is not determined. But what
//! ran, ran once; a reducer lists it in the serial order; and the result says whether anything is missing.

use super::{Action, Affine, How, Run, Value};
use bombyx::{CancelToken, Cancelled, Reducer, join, reducers::Append, scope, try_for_each};
use std::time::{Duration, Instant};

/// What is cancelled.
#[derive(Clone, Copy, Debug)]
pub(super) enum Stopped {
    /// [`Scope::cancel`](bombyx::Scope::cancel)
    Scope(How),
    /// [`CancelToken::scope`]
    TokenScope(How),
    /// [`CancelToken::for_each`]
    ForEach,
    /// [`CancelToken::map_reduce`]
    MapReduce,
    /// A tree of [`CancelToken::join`].
    Tree,
    /// [`try_for_each`]. It has no token: the iteration that cancels the others fails, and so does a later one.
    TryForEach,
}

/// When the token is cancelled if nobody cancels it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Deadline {
    None,
    /// Before anything begins.
    Over,
    Soon(Duration),
    Far,
}

impl Deadline {
    /// A token that also has a parent without a deadline.
    fn token(self) -> CancelToken {
        let parent = CancelToken::new();
        match self {
            Deadline::None => parent.child(),
            Deadline::Over => parent.child_with_deadline(Instant::now()),
            Deadline::Soon(time) => parent.child_with_deadline(Instant::now() + time),
            Deadline::Far => CancelToken::with_timeout(Duration::MAX).child(),
        }
    }
}

/// So many closures, of which one cancels the others.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    pub(super) what: Stopped,
    pub(super) deadline: Deadline,
    pub(super) closures: usize,
    /// The number of the closure that cancels. If there is none with this number, nothing is cancelled.
    pub(super) at: usize,
    /// Whether the body of a scope cancels, when it is about to spawn that closure.
    pub(super) by_body: bool,
}

impl From<Part> for Action {
    fn from(part: Part) -> Action {
        Action::Cancelled(part)
    }
}

impl Run<'_> {
    pub(super) fn cancelled(&self, part: Part) -> Value {
        let list = Reducer::new(Append::<Vec<usize>>::new());
        let Part { what, deadline, closures, at, by_body } = part;
        let token = deadline.token();
        let has_token = !matches!(what, Stopped::Scope(_) | Stopped::TryForEach);
        let one = |number: usize, cancel: &dyn Fn()| {
            // Something that forks, so that thieves take parts of it.
            let (left, ()) = join(|| self.census.count(number), || list.with(|list| list.push(number)));
            if number == at && !by_body {
                cancel();
            }
            left
        };
        let one = &one;
        let complete = match what {
            Stopped::Scope(how) => {
                scope(|s| {
                    for number in 0..closures {
                        if number == at && by_body {
                            s.cancel();
                        }
                        let carried = self.census.count(number);
                        how.spawn(s, move |s| drop((one(carried.0, &|| s.cancel()), carried)));
                    }
                });
                None
            }
            Stopped::TokenScope(how) => {
                let token = &token;
                let result = token.scope(|s| {
                    for number in 0..closures {
                        if number == at && by_body {
                            token.cancel();
                        }
                        let carried = self.census.count(number);
                        how.spawn(s, move |_| drop((one(carried.0, &|| token.cancel()), carried)));
                    }
                    self.census.count(())
                });
                Some(result.is_ok())
            }
            Stopped::ForEach => {
                let result = token.for_each(0..closures, |number| drop(one(number, &|| token.cancel())));
                Some(result.is_ok())
            }
            Stopped::MapReduce => {
                let result = token.map_reduce(
                    0..closures,
                    |number| vec![one(number, &|| token.cancel())],
                    Vec::new,
                    |mut left, right| {
                        left.extend(right);
                        left
                    },
                );
                Some(result.is_ok_and(|all| all.iter().map(|one| one.0).eq(0..closures)))
            }
            Stopped::TryForEach => {
                let fails = |number| number == at || number == at + 3;
                let result = try_for_each(0..closures, |number| {
                    drop(one(number, &|| ()));
                    if fails(number) { Err(number) } else { Ok(()) }
                });
                let expected = if at < closures { Err(at) } else { Ok(()) };
                assert_eq!(result, expected, "{part:?}: the first error arrives");
                None
            }
            Stopped::Tree => {
                let leaf = |number| one(number, &|| token.cancel());
                Some(tree(&token, 0, closures, &leaf).is_ok())
            }
        };
        let ran = list.into_inner();
        assert!(ran.is_sorted_by(|a, b| a < b), "{part:?}: the list is in serial order: {ran:?}");
        assert!(ran.last().is_none_or(|&last| last < closures), "{part:?}: {ran:?}");
        let spawned_too_late = by_body && matches!(what, Stopped::Scope(_) | Stopped::TokenScope(_));
        if spawned_too_late {
            assert!(
                ran.last().is_none_or(|&last| last < at),
                "{part:?}: closures ran after the end: {ran:?}"
            );
        }
        if matches!(what, Stopped::TryForEach) {
            let before = closures.min(at + 1);
            assert!(
                ran.iter().take(before).copied().eq(0..before),
                "{part:?}: all before the error: {ran:?}"
            );
        }
        // A tree of one leaf asks no token.
        let has_token = has_token && !(matches!(what, Stopped::Tree) && closures < 2);
        let may_come = has_token && !matches!(deadline, Deadline::None | Deadline::Far);
        if has_token && deadline == Deadline::Over {
            assert_eq!(ran, [], "{part:?}: nothing begins after the deadline");
        }
        if let Some(complete) = complete {
            // The body of a scope without closures may be what is missing.
            let nothing_to_do = closures == 0 && may_come;
            let all_ran = ran.len() == closures;
            assert!(
                complete == all_ran || nothing_to_do,
                "{part:?}: the result tells what is missing: {ran:?}"
            );
        }
        if at >= closures && !may_come {
            assert_eq!(ran.len(), closures, "{part:?}: nobody has cancelled anything");
        }
        self.value(Affine::IDENTITY)
    }
}

/// Calls `leaf` for each number, at the leaves of a tree of joins.
fn tree<T: Send>(
    token: &CancelToken,
    from: usize,
    to: usize,
    leaf: &(impl Fn(usize) -> T + Sync),
) -> Result<(), Cancelled> {
    match to - from {
        0 => Ok(()),
        1 => {
            drop(leaf(from));
            Ok(())
        }
        closures => {
            let middle = from + closures / 2;
            let both = token.join(|| tree(token, from, middle, leaf), || tree(token, middle, to, leaf));
            let (left, right) = both?;
            left.and(right)
        }
    }
}
