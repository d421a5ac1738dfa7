//! RW Figure 7 as steps: `resolve_join` and `watch`. Each step is one access to a status cell of a join, with the private
//! work next to it.

use super::Violation;
use super::machine::Machine;
use super::mutation::Mutation;
use super::state::{Pc, Processor, State, Status, Store, Watch};
use super::trace::Log;
use super::tree::{Cont, ContSet, Side};

impl Machine {
    /// Lines 113 to 132.
    pub(super) fn resolve_join(
        &self,
        s: &mut State,
        p: Processor,
        pc: Pc,
        c: Cont,
        log: &mut Log<'_>,
    ) -> Result<(), Violation> {
        let join = || self.threads.name(self.threads.join(c.fork));
        let other = c.other();
        let next = match pc {
            Pc::TestAck { cont } => {
                let value = s.status(p, c);
                log.step(p, 117, || format!("reads its own status of {}: {}", join(), self.show(value)));
                if value == Status::Ack {
                    return self.push_join(s, p, c.fork, log);
                }
                match self.is(Mutation::AckBeforeResponsibility) {
                    false => Pc::WriteReady { cont },
                    true => Pc::LateTest { cont },
                }
            }
            Pc::LateTest { cont } => {
                let value = s.status(p, other);
                log.step(p, 139, || format!("reads the other status of {}: {}", join(), self.show(value)));
                if value == Status::Ready { Pc::LateAck { cont } } else { Pc::WriteReady { cont } }
            }
            Pc::LateAck { cont } => {
                self.store(s, p, 141, Store::Status { cell: c, value: Status::Ack }, log);
                Pc::WriteReady { cont }
            }
            Pc::WriteReady { cont } => {
                self.store(s, p, 120, Store::Status { cell: c, value: Status::Ready }, log);
                if !self.is(Mutation::NoRemoval) {
                    s.local(p).watching.remove(c);
                }
                Pc::AwaitReply { cont }
            }
            Pc::AwaitReply { cont } => {
                let value = s.status(p, other);
                log.step(p, 122, || format!("reads the other status of {}: {}", join(), self.show(value)));
                if value == Status::Work { pc } else { Pc::MatchReply { cont } }
            }
            Pc::MatchReply { cont } => {
                let value = s.status(p, other);
                let left = c.side == Side::Left;
                let takes = match value {
                    Status::Ack => Some(false),
                    Status::Ready if self.is(Mutation::TieToBoth) => Some(true),
                    Status::Ready => Some(left && !self.is(Mutation::TieToNone)),
                    Status::Work | Status::Transfer(_) => None,
                };
                log.step(p, 124, || {
                    let verdict = match takes {
                        Some(true) => "takes the join",
                        Some(false) => "leaves the join to the other side",
                        None => "has no case for it",
                    };
                    format!("reads the other status of {}: {}, {verdict}", join(), self.show(value))
                });
                if takes.ok_or(Violation::NoMatch { line: 124 })? {
                    return self.push_join(s, p, c.fork, log);
                }
                if value == Status::Ready || !left {
                    return self.main_loop(s, p, log);
                }
                if self.is(Mutation::SilentTransfer) {
                    s.local(p).watching = ContSet::default();
                    return self.main_loop(s, p, log);
                }
                Pc::Transfer { cont }
            }
            Pc::Transfer { .. } => {
                let all = std::mem::take(&mut s.local(p).watching);
                let sent = if self.is(Mutation::NoTransfer) { ContSet::default() } else { all };
                self.store(s, p, 128, Store::Status { cell: c, value: Status::Transfer(sent) }, log);
                return self.main_loop(s, p, log);
            }
            _ => unreachable!("not a line of resolve_join"),
        };
        s.local(p).pc = next;
        Ok(())
    }

    /// Lines 134 to 139 for one continuation: called from a body, from line 123 or from line 147.
    pub(super) fn watch_test(
        &self,
        s: &mut State,
        p: Processor,
        caller: Watch,
        c: Cont,
        log: &mut Log<'_>,
    ) -> Result<(), Violation> {
        let value = s.status(p, c.other());
        let join = self.threads.name(self.threads.join(c.fork));
        log.step(p, 139, || format!("watches {join}, reads the other status: {}", self.show(value)));
        let early = value == Status::Work && self.is(Mutation::EarlyAck);
        if value != Status::Ready && !early {
            return Ok(());
        }
        s.local(p).watch = match caller {
            Watch::AwaitTransfer(outer) => Watch::InnerAck { outer, inner: c },
            _ => Watch::Ack(c),
        };
        Ok(())
    }

    /// Lines 141 to 150.
    pub(super) fn watch(
        &self,
        s: &mut State,
        p: Processor,
        watch: Watch,
        log: &mut Log<'_>,
    ) -> Result<(), Violation> {
        let join = |c: Cont| self.threads.name(self.threads.join(c.fork));
        let next = match watch {
            Watch::Ack(c) => {
                self.acknowledge(s, p, c, log);
                if c.side == Side::Left { Watch::Idle } else { Watch::AwaitTransfer(c) }
            }
            Watch::InnerAck { outer, inner } => {
                debug_assert!(inner.side == Side::Left, "a state with two right sides was not refused");
                self.acknowledge(s, p, inner, log);
                Watch::AwaitTransfer(outer)
            }
            Watch::AwaitTransfer(c) => {
                let value = s.status(p, c.other());
                log.step(p, 146, || format!("reads the left status of {}: {}", join(c), self.show(value)));
                if value == Status::Ready { watch } else { Watch::MatchTransfer(c) }
            }
            Watch::MatchTransfer(c) => {
                let value = s.status(p, c.other());
                log.step(p, 148, || format!("reads the left status of {}: {}", join(c), self.show(value)));
                let Status::Transfer(list) = value else { return Err(Violation::NoMatch { line: 148 }) };
                s.local(p).watching.add_multiple(list);
                Watch::Idle
            }
            Watch::Idle => unreachable!("watch is not running"),
        };
        s.local(p).watch = next;
        Ok(())
    }

    /// Lines 141 and 142.
    fn acknowledge(&self, s: &mut State, p: Processor, c: Cont, log: &mut Log<'_>) {
        self.store(s, p, 141, Store::Status { cell: c, value: Status::Ack }, log);
        s.local(p).watching.remove(c);
    }
}
