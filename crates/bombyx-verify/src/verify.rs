//! [`verify`]: tries many claims at once, on several threads, and reports them in order.

use crate::{Claim, Finding, Plan};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

/// What happens while claims are tried.
#[derive(Clone, Debug)]
pub enum News<'a> {
    /// How many runs of a claim are done, and how many there are.
    Progress {
        /// The claim.
        claim: &'a Claim,
        /// Runs done.
        done: u64,
        /// Runs in all.
        total: u64,
    },
    /// A claim has been tried. All claims before it in the list have been reported.
    Found {
        /// The claim.
        claim: &'a Claim,
        /// The result.
        finding: &'a Finding,
    },
}

/// Tries claims on this many threads and reports the findings in the order of the claims. The findings do not depend on
/// the number of threads.
///
/// ```
/// use bombyx_verify::{Effort, News, Plan, claims, verify};
///
/// let some: Vec<_> = claims().filter(|claim| claim.id.starts_with("lec-lem")).collect();
/// let plan = Plan { effort: Effort::Quick, ..Plan::default() };
/// let findings = verify(&some, plan, 2, |news| {
///     if let News::Found { claim, finding } = news {
///         println!("{} {}", claim.id, finding.verdict);
///     }
/// });
/// assert!(findings.iter().all(|finding| finding.holds()));
/// ```
pub fn verify(claims: &[&Claim], plan: Plan, threads: usize, mut tell: impl FnMut(News<'_>)) -> Vec<Finding> {
    enum Message {
        Progress(usize, u64, u64),
        Found(usize, Box<Finding>),
    }
    let next = AtomicUsize::new(0);
    let (sender, receiver) = mpsc::channel();
    let mut findings: Vec<Option<Finding>> = vec![None; claims.len()];
    std::thread::scope(|scope| {
        for _ in 0..threads.clamp(1, claims.len().max(1)) {
            let (sender, next) = (sender.clone(), &next);
            scope.spawn(move || {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(claim) = claims.get(at) else { break };
                    // Nobody listens any more only if the caller's `tell` panicked, which ends everything.
                    let progress = |done, total| drop(sender.send(Message::Progress(at, done, total)));
                    let finding = match plan.mutant {
                        Some(_) => claim.check_with(plan, &progress),
                        None => claim.judge(plan, &progress),
                    };
                    let _ = sender.send(Message::Found(at, Box::new(finding)));
                }
            });
        }
        drop(sender);
        let mut told = 0;
        for message in receiver {
            match message {
                Message::Progress(at, done, total) => tell(News::Progress { claim: claims[at], done, total }),
                Message::Found(at, finding) => findings[at] = Some(*finding),
            }
            while let Some(Some(finding)) = findings.get(told) {
                tell(News::Found { claim: claims[told], finding });
                told += 1;
            }
        }
    });
    findings.into_iter().map(|finding| finding.expect("every claim was tried")).collect()
}
