//! `private-cas`: work stealing with private deques and steals by compare-and-swap. This is the baseline PD/CAS of
//! Acar, Charguéraud, Muller and Rainey (Acar, Charguéraud and Rainey, "Scheduling parallel programs by work stealing
//! with private deques", PPoPP 2013, receiver-initiated). Requests and answers are those of
//! [`crate::protocol::mailbox`]: a victim answers the one thief that has changed its request word by compare-and-swap.
//! Everything else is in [`super`].

use super::{Channel, grant};
use crate::machine::processor::Processor;
use crate::protocol::job::Entry;
use crate::protocol::mailbox::Mail;

/// See the module text.
pub(in crate::scheduler) struct Cas;

impl Channel for Cas {
    type Ticket = ();

    fn ask(thief: &Processor, victim: &Processor, want: usize) -> Option<()> {
        (victim.is_busy() && victim.requests.post(&thief.post, want)).then_some(())
    }

    fn is_pending(thief: &Processor, victim: &Processor, (): ()) -> bool {
        // A victim that has nothing to run answers nobody.
        !thief.post.mailbox.has_mail() && victim.is_busy()
    }

    fn repeat(_: &Processor, _: &Processor, (): ()) {}

    fn conclude(thief: &Processor, victim: &Processor, (): ()) -> Option<Entry> {
        let mail = match thief.post.mailbox.pick_up() {
            Mail::None => victim.requests.cancel(&thief.post),
            mail => mail,
        };
        if mail == Mail::None {
            thief.stats.withdrawn.add(1);
        }
        mail.entry()
    }

    fn answer(victim: &Processor) {
        let Some(thief) = victim.requests.claim() else { return };
        // SAFETY: posts live as long as the processors of the pool.
        let thief = unsafe { &*thief };
        let entry = grant::<Cas>(victim, thief.want());
        let count = if entry.is_some() { &victim.stats.served } else { &victim.stats.declined };
        count.add(1);
        thief.mailbox.deliver(entry);
    }

    fn taken(_: &Processor, entry: Entry) {
        entry.taken_out();
    }

    /// Joins learn by latches that their jobs have ended.
    fn watch(_: &Processor) {}
}
