//! Verdicts: what a paper's caption or text claims about an exhibit, compared with our figures. What holds is listed
//! under "Agrees", and what does not under "Differs", by the same test.

/// Collects verdicts for a [`Page`](super::exhibit::Page).
#[derive(Default)]
pub(super) struct Verdicts {
    agrees: Vec<String>,
    differs: Vec<String>,
    notes: Vec<String>,
}

impl Verdicts {
    /// A claim with the figures that decide it.
    pub(super) fn judge(&mut self, holds: bool, text: impl Into<String>) {
        let list = if holds { &mut self.agrees } else { &mut self.differs };
        list.push(text.into());
    }

    /// A claim about several benchmarks. It agrees if it holds for all of them, and is not judged if there are none.
    /// `paper` says for how many the paper's figures support it, if they are known.
    pub(super) fn count(&mut self, claim: &str, holds: usize, of: usize, paper: Option<usize>) {
        let paper = paper.map_or(String::new(), |count| format!("; in the paper's figures {count}"));
        if of == 0 {
            return self.note(format!("there is nothing here on which to judge: {claim}{paper}"));
        }
        self.judge(holds == of, format!("{claim} ({holds} of {of}{paper})"));
    }

    /// A note that explains a difference.
    pub(super) fn note(&mut self, text: impl Into<String>) {
        self.notes.push(text.into());
    }

    /// What agrees, and what does not, with the notes.
    pub(super) fn texts(self) -> (String, String) {
        let sentence = |mut list: Vec<String>, none: &str| {
            if list.is_empty() {
                list.push(none.to_owned());
            }
            list.join("; ") + "."
        };
        let agrees = sentence(self.agrees, "nothing of what is claimed");
        let mut differs = sentence(self.differs, "nothing of what is claimed");
        if !self.notes.is_empty() {
            differs = format!("{differs} Why, and what to know: {}.", self.notes.join("; "));
        }
        (agrees, differs)
    }
}

/// How often a test holds.
pub(super) fn holds<T>(rows: &[T], test: impl Fn(&T) -> bool) -> usize {
    rows.iter().filter(|row| test(row)).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_that_fails_once_differs_and_one_about_nothing_is_not_judged() {
        let mut verdicts = Verdicts::default();
        verdicts.count("a > b", 7, 7, None);
        verdicts.count("b > c", 6, 7, Some(7));
        verdicts.judge(false, "d grows: 1, 0");
        verdicts.note("c is small");
        let (agrees, differs) = verdicts.texts();
        assert_eq!(agrees, "a > b (7 of 7).");
        assert_eq!(
            differs,
            "b > c (6 of 7; in the paper's figures 7); d grows: 1, 0. Why, and what to know: c is small."
        );
        let mut verdicts = Verdicts::default();
        verdicts.count("a > b", 0, 0, None);
        let (agrees, differs) = verdicts.texts();
        assert_eq!(agrees, "nothing of what is claimed.");
        assert!(differs.ends_with("there is nothing here on which to judge: a > b."), "{differs}");
        let (agrees, _) = Verdicts::default().texts();
        assert_eq!(agrees, "nothing of what is claimed.");
    }
}
