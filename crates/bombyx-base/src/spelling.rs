//! Finds what was meant by a typo.

/// The candidate that is most like `word`, if one is similar. A candidate is similar if it contains the word, or
/// differs from it in at most two letters, or in three if the word has more than six.
///
/// ```
/// use bombyx_base::nearest;
/// let names = ["work-stealing", "fifo", "busy-leaves"];
/// assert_eq!(nearest("wrok-stealing", names), Some("work-stealing"));
/// assert_eq!(nearest("busy", names), Some("busy-leaves"));
/// assert_eq!(nearest("greedy", names), None);
/// ```
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let most = match word.chars().count() {
        0..2 => return None,
        2..4 => 1,
        4..7 => 2,
        _ => 3,
    };
    let distance = |candidate: &str| if candidate.contains(word) { 0 } else { edits(word, candidate) };
    let ranked = candidates.into_iter().map(|candidate| (distance(candidate), candidate));
    ranked
        .filter(|(distance, _)| *distance <= most)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// How many letters must be inserted, deleted, replaced or exchanged with a neighbour to turn one word into the other.
///
/// ```
/// use bombyx_base::edits;
/// assert_eq!(edits("kitten", "sitting"), 3);
/// assert_eq!(edits("wrok", "work"), 1);
/// assert_eq!(edits("", "abc"), 3);
/// ```
pub fn edits(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            rows[i][j] = if i == 0 || j == 0 {
                i + j
            } else {
                let replaced = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
                let exchanged = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
                let exchanged = if exchanged { rows[i - 2][j - 2] + 1 } else { usize::MAX };
                replaced.min(exchanged).min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1)
            };
        }
    }
    rows[a.len()][b.len()]
}
