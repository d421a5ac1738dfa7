use std::time::Instant;
fn fib(n: u64) -> u64 {
    if n < 2 { n } else { fib(n - 1) + fib(n - 2) }
}
fn pfib(n: u64) -> u64 {
    if n < 2 {
        n
    } else {
        let (a, b) = bombyx::join(|| pfib(n - 1), || pfib(n - 2));
        a + b
    }
}
fn rfib(n: u64) -> u64 {
    if n < 2 {
        n
    } else {
        let (a, b) = rayon::join(|| rfib(n - 1), || rfib(n - 2));
        a + b
    }
}
fn cfib(s: &mut chili::Scope<'_>, n: u64) -> u64 {
    if n < 2 {
        n
    } else {
        let (a, b) = s.join(|s| cfib(s, n - 1), |s| cfib(s, n - 2));
        a + b
    }
}
fn busy(ns: u64) {
    let t = Instant::now();
    while (t.elapsed().as_nanos() as u64) < ns {
        std::hint::spin_loop()
    }
}
fn tree(k: u32, ns: u64) {
    if k == 0 {
        busy(ns)
    } else {
        bombyx::join(|| tree(k - 1, ns), || tree(k - 1, ns));
    }
}
fn rtree(k: u32, ns: u64) {
    if k == 0 {
        busy(ns)
    } else {
        rayon::join(|| rtree(k - 1, ns), || rtree(k - 1, ns));
    }
}
fn stree(k: u32, ns: u64) {
    if k == 0 {
        busy(ns)
    } else {
        stree(k - 1, ns);
        stree(k - 1, ns)
    }
}
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let p: usize = a.get(1).map_or(2, |s| s.parse().unwrap());
    let n: u64 = a.get(2).map_or(38, |s| s.parse().unwrap());
    let pool = bombyx::Pool::builder().processors(p).fence(a.get(4).is_some()).build().unwrap();
    let rp = rayon::ThreadPoolBuilder::new().num_threads(p).build().unwrap();
    let cp = chili::ThreadPool::with_config(chili::Config {
        thread_count: Some(p.try_into().unwrap()),
        ..Default::default()
    });
    let what = a.get(3).map_or("fib", |s| s);
    if what.contains("fib") {
        for _ in 0..5 {
            let t = Instant::now();
            let r = fib(std::hint::black_box(n));
            let ts = t.elapsed().as_secs_f64();
            let t = Instant::now();
            assert_eq!(r, pool.run(|| pfib(n)));
            let tb = t.elapsed().as_secs_f64();
            let t = Instant::now();
            assert_eq!(r, rp.install(|| rfib(n)));
            let tr = t.elapsed().as_secs_f64();
            let t = Instant::now();
            assert_eq!(r, cfib(&mut cp.scope(), n));
            let tc = t.elapsed().as_secs_f64();
            println!(
                "serial {ts:.3} bombyx {tb:.3} x{:.2} rayon {tr:.3} ({:.2}) chili {tc:.3} ({:.2})",
                tb / ts,
                tb / tr,
                tb / tc
            );
        }
        println!("{}", pool.stats());
    }
    if what.contains("coarse") {
        let t = Instant::now();
        pool.run(|| bombyx::join(|| busy(50_000_000), || busy(50_000_000)));
        println!("coarse {:?}", t.elapsed());
        println!("{}", pool.stats());
    }
    if what.contains("region") {
        for ns in [200, 1000, 5000, 10_000, 20_000, 50_000, 100_000] {
            let reps = (20_000_000 / (16 * ns)).max(50) as usize;
            let (mut x, mut y, mut z) = (vec![], vec![], vec![]);
            let before = pool.stats();
            for _ in 0..9 {
                let t = Instant::now();
                pool.run(|| {
                    for _ in 0..reps {
                        tree(4, ns)
                    }
                });
                x.push(t.elapsed().as_nanos() as f64 / reps as f64 / 1e3);
                let t = Instant::now();
                rp.install(|| {
                    for _ in 0..reps {
                        rtree(4, ns)
                    }
                });
                y.push(t.elapsed().as_nanos() as f64 / reps as f64 / 1e3);
                let t = Instant::now();
                for _ in 0..reps {
                    stree(4, ns)
                }
                z.push(t.elapsed().as_nanos() as f64 / reps as f64 / 1e3);
            }
            let m = |v: &mut Vec<f64>| {
                v.sort_by(f64::total_cmp);
                v[v.len() / 2]
            };
            let (x, y, z) = (m(&mut x), m(&mut y), m(&mut z));
            println!(
                "region 16x{ns}ns: bombyx {x:.2} rayon {y:.2} ({:.2}) serial {z:.2} ({:.2})",
                x / y,
                x / z
            );
            println!("   {}", pool.stats() - before);
        }
    }
}
