//! RW Figures 4 and 5: the main loop and `handle_cont`.

use super::{Cont, Mutation, Next, Pc, Processor, Side};

/// Lines 45 to 53: the running thread ends in a fork. All of it is private until a thief gets `right`.
#[inline(always)]
pub fn fork<P: Processor>(p: &mut P, left: P::Thread, right: P::Thread, join: P::Join) {
    let Some(current) = p.current() else { unreachable!("a thread forks once") };
    let thread = p.join_thread(join);
    if !p.is(Mutation::NoInheritance) {
        p.set_conti(thread, current);
    }
    if !p.is(Mutation::KeepsContinuation) {
        p.set_current(None);
    }
    p.init_status(join);
    p.set_conti(left, Next::Branch(Cont { join, side: Side::Left }));
    p.set_conti(right, Next::Branch(Cont { join, side: Side::Right }));
    p.push_bottom(right);
    p.push_bottom(left);
}

/// Lines 44 and 54 to 67: what follows the body that the processor was in. All of it is private.
///
/// # Errors
/// If [`Processor::enter`] refuses the next thread.
#[inline(always)]
pub fn finish<P: Processor>(p: &mut P) -> Result<(), P::Fault> {
    let Some(next) = p.current() else { return main_loop(p) };
    if !p.is(Mutation::KeepsEnded) {
        p.set_current(None);
    }
    match next {
        Next::End => {
            p.say(56, |_| "ends, exit".to_owned());
            p.go(Pc::Clear);
            p.exit();
            Ok(())
        }
        Next::Single(join) => {
            p.say(58, |_| "ends, its join has no other branch".to_owned());
            let thread = p.join_thread(join);
            p.push_bottom(thread);
            main_loop(p)
        }
        Next::Branch(cont) => {
            let local = cont.side == Side::Left && !p.is(Mutation::NoLocalJoin);
            if local && let Some(right) = p.peek_bottom() {
                p.say(65, |_| "ends, the right branch is still here and becomes SINGLE".to_owned());
                p.make_single(right);
                if p.is(Mutation::SingleAndResolves) {
                    resolve(p, cont);
                    return Ok(());
                }
                return main_loop(p);
            }
            p.say(67, |p| {
                let side = if cont.side == Side::Left { "LEFT" } else { "RIGHT" };
                format!("ends, resolves {{{}, {side}}}", p.name(p.join_thread(cont.join)))
            });
            if p.is(Mutation::NoResolution) {
                return main_loop(p);
            }
            resolve(p, cont);
            Ok(())
        }
    }
}

/// Line 67, or the counter in its place.
#[inline(always)]
fn resolve<P: Processor>(p: &mut P, cont: Cont<P::Join>) {
    let counted = p.joins_by_counter();
    p.go(if counted { Pc::Decrement { cont } } else { Pc::TestAck { cont } });
}

/// Line 38, with the previous thread done.
#[inline(always)]
pub(super) fn main_loop<P: Processor>(p: &mut P) -> Result<(), P::Fault> {
    if p.is(Mutation::PollBetweenThreads) {
        p.go(Pc::Between);
        return Ok(());
    }
    next_thread(p)
}

/// Lines 39 to 43: take the bottom thread and enter its body, or `acquire` one.
///
/// # Errors
/// If [`Processor::enter`] refuses the thread.
#[inline(always)]
pub fn next_thread<P: Processor>(p: &mut P) -> Result<(), P::Fault> {
    let Some(thread) = p.pop_bottom() else {
        let clears = !p.is(Mutation::NoClear);
        p.go(if clears { Pc::Clear } else { Pc::Choose });
        return Ok(());
    };
    let thread = match p.conti(thread) {
        Next::Branch(c) if p.is(Mutation::StartsJoin) => p.join_thread(c.join),
        _ => thread,
    };
    p.say(43, |p| format!("runs {}", p.name(thread)));
    let next = p.conti(thread);
    if !p.is(Mutation::StaleContinuation) {
        p.set_current(Some(next));
    }
    p.go(Pc::Body { thread });
    p.enter(thread)
}

/// Pushes the join thread and goes on with the main loop.
#[inline(always)]
pub(super) fn push_join<P: Processor>(p: &mut P, join: P::Join) -> Result<(), P::Fault> {
    let thread = p.join_thread(join);
    p.push_bottom(thread);
    main_loop(p)
}

/// What follows a body if deques are concurrent. Then nobody can look at the bottom thread and leave it there. Whether
/// the right branch is still here shows only when it is popped.
///
/// # Errors
/// If [`Processor::enter`] refuses the next thread.
#[inline(always)]
pub fn finish_concurrent<P: Processor>(p: &mut P) -> Result<(), P::Fault> {
    let Some(next) = p.current() else { return next_thread(p) };
    p.set_current(None);
    match next {
        Next::End => {
            p.go(Pc::Clear);
            p.exit();
            Ok(())
        }
        Next::Single(join) => {
            let thread = p.join_thread(join);
            start(p, thread)
        }
        Next::Branch(cont) => {
            if cont.side == Side::Left
                && let Some(right) = p.pop_bottom()
            {
                p.make_single(right);
                return start(p, right);
            }
            p.go(Pc::Decrement { cont });
            Ok(())
        }
    }
}

/// Lines 42 and 43 for a thread that the processor already has.
///
/// # Errors
/// If [`Processor::enter`] refuses the thread.
#[inline(always)]
pub fn start<P: Processor>(p: &mut P, thread: P::Thread) -> Result<(), P::Fault> {
    let next = p.conti(thread);
    p.set_current(Some(next));
    p.go(Pc::Body { thread });
    p.enter(thread)
}
