//! Acar, Charguéraud, Muller and Rainey, "Atomic read-modify-write operations are unnecessary for shared-memory work
//! stealing": 30 cores of four Xeon X7550.

/// A row of Tables 1 and 2 and of Figures 8 to 10. Percentages are relative to the first configuration of each table.
pub(in crate::reproduce) struct Row {
    /// Their name.
    pub(in crate::reproduce) name: &'static str,
    /// Our workload.
    pub(in crate::reproduce) workload: &'static str,
    /// Table 1: speedup and seconds of PD/CAS; Our WS and Our WS+JR against it, in per cent.
    pub(in crate::reproduce) table1: [f64; 4],
    /// Table 2: speedup and seconds of Cilk Plus; Chase Lev, Our WS and Our WS+JR against it, in per cent.
    pub(in crate::reproduce) table2: [f64; 5],
    /// Figure 8: steals of Our WS; Our WS+JR, Chase Lev and PD/CAS against it, in per cent.
    pub(in crate::reproduce) steals: [f64; 4],
    /// Figure 9: seconds in leaves of Our WS; Our WS+JR, Chase Lev and PD/CAS against it, in per cent.
    pub(in crate::reproduce) work: [f64; 4],
    /// Figure 10: idle time of Our WS in per cent; Our WS+JR, Chase Lev and PD/CAS against it, in per cent.
    pub(in crate::reproduce) idle: [f64; 4],
}

/// Tables 1 and 2 (§7), Figures 8 to 10 (appendix A).
pub(in crate::reproduce) const ROWS: [Row; 14] = [
    Row {
        name: "matmul",
        workload: "matmul",
        table1: [26.1, 2.1, -0.0, 2.2],
        table2: [23.3, 2.4, 7.0, -10.8, -8.8],
        steals: [2199.0, 0.9, 1.8, -3.1],
        work: [64.3, -2.7, 17.4, -1.9],
        idle: [0.0, 12.6, -77.6, -8.9],
    },
    Row {
        name: "cilksort (exptintseq)",
        workload: "cilksort-exponential",
        table1: [19.1, 1.3, -0.1, 14.3],
        table2: [20.1, 1.2, 7.1, 5.4, 20.5],
        steals: [3169.0, -13.0, 2.6, -1.3],
        work: [36.1, -0.4, -0.5, -0.9],
        idle: [1.0, -32.1, -89.2, -32.1],
    },
    Row {
        name: "cilksort (randintseq)",
        workload: "cilksort-random",
        table1: [22.2, 1.5, -0.2, 8.1],
        table2: [23.0, 1.4, 4.6, 3.5, 12.1],
        steals: [3127.0, -9.4, 4.8, -7.4],
        work: [41.5, 0.6, -0.8, -0.2],
        idle: [0.0, 34.2, -81.8, -14.0],
    },
    Row {
        name: "fib",
        workload: "fib",
        table1: [27.5, 3.7, -1.9, 0.9],
        table2: [25.7, 4.0, -5.6, -8.6, -5.9],
        steals: [833.0, -14.1, 7.8, -7.3],
        work: [107.0, -0.0, -1.0, 0.9],
        idle: [0.0, 73.7, -67.3, 79.0],
    },
    Row {
        name: "matching (eggrid2d)",
        workload: "matching-grid2d",
        table1: [19.4, 1.6, 5.4, 13.6],
        table2: [17.6, 1.7, 7.2, -4.1, 3.4],
        steals: [63_449.0, -25.7, 15.4, 2.9],
        work: [42.0, -2.6, 9.8, 2.4],
        idle: [5.0, 82.0, -73.8, -3.3],
    },
    Row {
        name: "matching (egrlg)",
        workload: "matching-rlg",
        table1: [19.4, 4.1, 0.7, 7.7],
        table2: [19.7, 4.0, 9.5, 2.4, 9.4],
        steals: [74_326.0, -21.2, 13.4, 2.1],
        work: [108.0, -0.0, 25.7, -0.7],
        idle: [3.0, 81.4, -80.4, 5.6],
    },
    Row {
        name: "matching (egrmat)",
        workload: "matching-rmat",
        table1: [18.9, 3.6, -0.7, 7.2],
        table2: [18.5, 3.6, -1.8, -2.8, 5.0],
        steals: [74_118.0, -21.5, 13.3, 2.5],
        work: [92.8, -0.7, 11.6, 7.4],
        idle: [3.0, 93.8, -77.3, 2.6],
    },
    Row {
        name: "MIS (grid2d)",
        workload: "mis-grid2d",
        table1: [15.7, 0.8, -11.2, 9.8],
        table2: [16.8, 0.7, 13.2, -5.2, 17.3],
        steals: [31_328.0, -29.5, 13.9, 0.4],
        work: [16.0, -2.0, 13.4, 0.2],
        idle: [5.0, 104.2, -71.2, -4.4],
    },
    Row {
        name: "MIS (rlg)",
        workload: "mis-rlg",
        table1: [18.8, 1.9, -0.9, 13.4],
        table2: [18.2, 2.0, 3.0, -3.9, 9.9],
        steals: [40_223.0, -27.0, 13.6, 3.1],
        work: [50.5, -7.8, -1.7, -9.7],
        idle: [2.0, 121.4, -76.5, 2.1],
    },
    Row {
        name: "MIS (rmat)",
        workload: "mis-rmat",
        table1: [19.0, 2.1, -1.6, 12.6],
        table2: [17.3, 2.3, 6.1, -10.4, 2.4],
        steals: [40_840.0, -26.3, 12.5, 1.7],
        work: [53.0, -2.2, 11.9, 5.7],
        idle: [2.0, 104.4, -78.7, -4.2],
    },
    Row {
        name: "hull (plummer2d)",
        workload: "quickhull-plummer",
        table1: [17.3, 2.3, -3.5, -2.4],
        table2: [19.8, 2.0, 8.0, 10.6, 11.8],
        steals: [8780.0, -21.4, 8.9, 2.9],
        work: [28.5, -0.4, -2.4, 0.9],
        idle: [6.0, 4.1, -14.2, 25.7],
    },
    Row {
        name: "hull (uniform2d)",
        workload: "quickhull-uniform",
        table1: [18.3, 4.4, -0.4, 1.5],
        table2: [18.9, 4.2, 3.6, 2.8, 4.8],
        steals: [10_915.0, -16.0, 5.8, -0.7],
        work: [65.7, -2.1, -0.8, -1.8],
        idle: [1.0, 29.4, -28.0, -14.9],
    },
    Row {
        name: "sort (exptseq)",
        workload: "samplesort-exponential",
        table1: [23.3, 1.6, -0.9, 0.7],
        table2: [15.0, 2.5, -38.5, -36.0, -35.0],
        steals: [3852.0, -14.1, 10.5, 3.3],
        work: [22.9, -0.5, 0.0, -0.6],
        idle: [2.0, 3.1, -63.0, 37.5],
    },
    Row {
        name: "sort (randdblseq)",
        workload: "samplesort-random",
        table1: [24.4, 2.2, -1.3, 1.3],
        table2: [15.0, 3.5, -40.1, -39.2, -37.7],
        steals: [3953.0, -13.4, 9.1, -1.8],
        work: [37.0, 0.5, -0.4, -0.3],
        idle: [1.0, 1.7, -66.6, 47.7],
    },
];
