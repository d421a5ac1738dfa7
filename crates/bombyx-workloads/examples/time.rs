//! Times workloads on every runtime that is compiled in: `time [SIZE] [GRAIN] [NAME…]`.

use std::io::Write;

use bombyx_workloads::{Grain, Runtime, Size, all, select};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let size: Size = args.next().as_deref().unwrap_or("default").parse()?;
    let grain: Grain = args.next().as_deref().unwrap_or("medium").parse()?;
    let mut workloads = Vec::new();
    for name in args {
        workloads.extend(select(&name)?);
    }
    if workloads.is_empty() {
        workloads = all().to_vec();
    }
    #[cfg(feature = "peers")]
    let rayon: Vec<_> = [1, 2]
        .map(|threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build())
        .into_iter()
        .collect::<Result<_, _>>()?;
    #[cfg(feature = "peers")]
    let chili = [1, 2].map(|threads| {
        chili::ThreadPool::with_config(chili::Config {
            thread_count: std::num::NonZero::new(threads),
            ..chili::Config::default()
        })
    });
    let bombyx: Vec<_> = [1, 2]
        .map(|processors| bombyx::Pool::builder().processors(processors).build())
        .into_iter()
        .collect::<Result<_, _>>()?;
    #[allow(unused_mut)]
    let mut runtimes =
        vec![(Runtime::Serial, 1), (Runtime::Bombyx(&bombyx[0]), 1), (Runtime::Bombyx(&bombyx[1]), 2)];
    #[cfg(feature = "peers")]
    runtimes.extend([
        (Runtime::Rayon(&rayon[0]), 1),
        (Runtime::Rayon(&rayon[1]), 2),
        (Runtime::Chili(&chili[0]), 1),
        (Runtime::Chili(&chili[1]), 2),
    ]);
    for workload in workloads {
        let mut prepared = workload.prepare(size, grain, 42);
        print!("{:<22} {:<52}", workload.name(), prepared.input());
        for &(on, processors) in &runtimes {
            let mut best = prepared.run(on).time;
            prepared.check()?;
            for _ in 0..2 {
                best = best.min(prepared.run(on).time);
            }
            print!(" {}/{processors} {:>7.1}", on.name(), best.as_secs_f64() * 1e3);
            std::io::stdout().flush()?;
        }
        println!();
    }
    Ok(())
}
