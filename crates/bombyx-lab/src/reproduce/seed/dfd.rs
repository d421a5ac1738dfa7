//! Narlikar, "Scheduling threads for low space requirement and good locality" (SPAA 1999). Eight 167 MHz UltraSPARC
//! processors, Solaris threads, K = 50,000 bytes. Figures 9 to 14 are plots, and their values are not in the text that
//! we have. What the text says about them is cited where they are reproduced.

/// Values for FIFO, the depth-first scheduler (ADF) and DFDeques (DFD).
pub(in crate::reproduce) struct Three<T> {
    pub(in crate::reproduce) fifo: T,
    pub(in crate::reproduce) adf: T,
    pub(in crate::reproduce) dfd: T,
}

const fn three<T: Copy>([fifo, adf, dfd]: [T; 3]) -> Three<T> {
    Three { fifo, adf, dfd }
}

/// A row of Figures 1 and 8.
pub(in crate::reproduce) struct Row {
    /// Our workload.
    pub(in crate::reproduce) workload: &'static str,
    /// Figure 8, medium grain: all threads.
    pub(in crate::reproduce) medium_total: u64,
    /// Figure 8, medium grain: most threads alive at a time.
    pub(in crate::reproduce) medium_threads: Three<u64>,
    /// Figure 8, fine grain: all threads.
    pub(in crate::reproduce) fine_total: u64,
    /// Figures 1 and 8, fine grain: most threads alive at a time.
    pub(in crate::reproduce) fine_threads: Three<u64>,
    /// Figure 1: misses of the second-level cache, in per cent.
    pub(in crate::reproduce) misses: Three<f64>,
    /// Figure 1: speedup on eight processors.
    pub(in crate::reproduce) speedup: Three<f64>,
}

const fn row(
    workload: &'static str,
    medium: (u64, [u64; 3]),
    fine: (u64, [u64; 3]),
    misses: [f64; 3],
    speedup: [f64; 3],
) -> Row {
    Row {
        workload,
        medium_total: medium.0,
        medium_threads: three(medium.1),
        fine_total: fine.0,
        fine_threads: three(fine.1),
        misses: three(misses),
        speedup: three(speedup),
    }
}

/// Figures 1 and 8.
pub(in crate::reproduce) const ROWS: [Row; 7] = [
    row(
        "volume-rendering",
        (1427, [195, 29, 29]),
        (4499, [436, 36, 37]),
        [4.2, 3.0, 1.8],
        [5.39, 5.99, 6.96],
    ),
    row("dense-mm", (4687, [623, 33, 48]), (37491, [3752, 55, 77]), [24.0, 13.0, 8.7], [0.22, 3.78, 5.82]),
    row("spmv", (1263, [54, 31, 31]), (5103, [173, 51, 49]), [13.8, 13.7, 13.7], [3.59, 5.04, 6.29]),
    row("fft", (177, [64, 13, 18]), (1777, [510, 30, 33]), [14.6, 16.4, 14.4], [6.02, 5.96, 6.38]),
    row("fmm", (4500, [1314, 21, 29]), (36676, [2030, 50, 54]), [14.0, 2.1, 1.0], [1.64, 7.03, 7.47]),
    row(
        "barnes-hut",
        (40893, [1264, 33, 106]),
        (124_767, [3570, 42, 120]),
        [19.0, 3.9, 2.9],
        [0.64, 6.26, 6.97],
    ),
    row("decision-tree", (3059, [82, 60, 77]), (6995, [194, 138, 149]), [5.8, 4.9, 4.6], [4.83, 4.85, 5.39]),
];
