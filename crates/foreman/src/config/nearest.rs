//! What somebody may have meant.

/// The candidate that is closest to `given`, if any is close enough to be meant.
pub fn nearest<'a>(given: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let enough = (given.chars().count() / 3).max(1);
    candidates
        .into_iter()
        .map(|candidate| (distance(given, candidate), candidate))
        .filter(|(distance, _)| *distance <= enough)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// How many letters must be put in, left out, replaced or swapped with their neighbour.
pub fn distance(left: &str, right: &str) -> usize {
    let (left, right): (Vec<char>, Vec<char>) = (left.chars().collect(), right.chars().collect());
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=right.len()).collect();
    for (row, a) in left.iter().enumerate() {
        let mut here = vec![row + 1];
        for (column, b) in right.iter().enumerate() {
            let mut best = (above[column] + usize::from(a != b)).min(above[column + 1] + 1).min(here[column] + 1);
            if row > 0 && column > 0 && *a == right[column - 1] && left[row - 1] == *b {
                best = best.min(before[column - 1] + 1);
            }
            here.push(best);
        }
        before = above;
        above = here;
    }
    above[right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_finger_is_understood_and_another_word_is_not() {
        let known = ["worker.slots", "worker.poll", "listen"];
        assert_eq!(nearest("worker.slot", known), Some("worker.slots"));
        assert_eq!(nearest("worker.solts", known), Some("worker.slots"));
        assert_eq!(nearest("lisen", known), Some("listen"));
        assert_eq!(nearest("colour", known), None);
        assert_eq!(distance("ab", "ba"), 1);
        assert_eq!(distance("", "abc"), 3);
    }
}
