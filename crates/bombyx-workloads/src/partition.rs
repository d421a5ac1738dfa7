//! Quicksort's partition, without a branch on the result of a comparison.

/// Moves everything smaller than the median of three elements before that median, and returns where the median is then.
pub(crate) fn partition<T: Copy>(data: &mut [T], smaller: impl Fn(&T, &T) -> bool) -> usize {
    let last = data.len() - 1;
    let mut three = [0, last / 2, last];
    for (i, j) in [(0, 1), (1, 2), (0, 1)] {
        if smaller(&data[three[j]], &data[three[i]]) {
            three.swap(i, j);
        }
    }
    data.swap(three[1], last);
    let pivot = data[last];
    let mut middle = 0;
    for i in 0..last {
        let before = smaller(&data[i], &pivot);
        data.swap(i, middle);
        middle += usize::from(before);
    }
    data.swap(middle, last);
    middle
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pivot_stands_between() {
        for data in [vec![1], vec![2, 1], vec![3, 1, 2, 5, 4, 0, 9], vec![7; 10], (0..50).rev().collect()] {
            let mut parted = data.clone();
            let middle = partition(&mut parted, |a, b| a < b);
            let pivot = parted[middle];
            assert!(
                parted[..middle].iter().all(|x| *x < pivot) && parted[middle..].iter().all(|x| *x >= pivot)
            );
            let sorted = |mut data: Vec<i32>| {
                data.sort_unstable();
                data
            };
            assert_eq!(sorted(parted), sorted(data));
        }
    }
}
