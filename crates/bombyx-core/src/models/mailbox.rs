//! Models of cooperative steals: requests, answers and offers.

use super::*;

struct Victim {
    deque: Deque,
    requests: Requests,
    thief: Post,
    task: Task,
}

/// Request, claim, answer, cancel, take back: a job that travels by mail is run exactly once.
#[test]
fn cooperative_steal() {
    explore_weak(6, &[Fault::ServeWithoutClaim, Fault::LeaveWithoutCancel, Fault::TakeBackBlindly], || {
        let victim = Arc::new(Victim {
            deque: Deque::new(false),
            requests: Requests::new(),
            thief: Post::new(),
            task: Task::new(),
        });
        let thief = {
            let victim = Arc::clone(&victim);
            thread::spawn(move || {
                assert!(victim.requests.post(&victim.thief, 0));
                victim.deque.poison();
                let mail = match victim.thief.mailbox.pick_up() {
                    Mail::None => victim.requests.cancel(&victim.thief),
                    mail => mail,
                };
                let answered = mail != Mail::None;
                if let Some(entry) = mail.entry() {
                    assert!(execute(entry).is_none());
                }
                answered
            })
        };
        // The victim forks, attends if asked to, and joins.
        let pushed = fork(&victim.deque, &victim.task);
        let mut given = false;
        if victim.deque.wants_attention(pushed) {
            victim.deque.attend();
            if let Some(post) = victim.requests.claim() {
                // SAFETY: the post is part of the victim here.
                let mailbox = unsafe { &(*post).mailbox };
                let entry = victim.deque.take_top(|entry| entry.taken(Place::Mailbox(mailbox)));
                assert!(entry.is_some());
                mailbox.deliver(entry);
                given = true;
            }
        }
        if given {
            if victim.thief.mailbox.take_back(victim.task.entry()) {
                victim.task.run();
            }
        } else {
            assert!(join(&victim.deque, &victim.task));
        }
        let answered = thief.join().unwrap();
        assert_eq!(victim.task.runs.load(Relaxed), 1, "the job was lost or run twice");
        assert_eq!(victim.requests.claim(), None);
        assert!(
            answered || victim.thief.mailbox.pick_up() == Mail::None,
            "an answer came to one who had left"
        );
    });
}

/// An offered job: two thieves reach for it and its join takes it back. Exactly one of them has it.
#[test]
fn offer_against_take_back() {
    explore_weak(6, &[Fault::TakeBackBlindly], || {
        let offer = Arc::new(Offer::new());
        let deque = Deque::new(false);
        let task = Arc::new(Task::new());
        fork(&deque, &task);
        let entry = deque.take_top(|entry| entry.taken(Place::Mailbox(offer.mailbox()))).expect("pushed");
        offer.make(entry);
        let thieves: Vec<_> = (0..2)
            .map(|_| {
                let (offer, task) = (Arc::clone(&offer), Arc::clone(&task));
                thread::spawn(move || {
                    let _ = &task;
                    if let Some(entry) = offer.take() {
                        assert!(execute(entry).is_none());
                    }
                })
            })
            .collect();
        if offer.mailbox().take_back(task.entry()) {
            task.run();
        }
        for thief in thieves {
            thief.join().unwrap();
        }
        assert_eq!(task.runs.load(Relaxed), 1, "the job was lost or run twice");
        assert!(!offer.stands());
    });
}
