//! Times workloads on all runtimes, one and two processors, best of three: `time [SIZE] [GRAIN] [NAME…]`.

use std::io::Write;
use std::num::NonZero;

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

    let bombyx = |processors| bombyx::Pool::builder().processors(processors).build();
    let rayon = |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let chili = |threads| {
        let thread_count = NonZero::new(threads);
        chili::ThreadPool::with_config(chili::Config { thread_count, ..chili::Config::default() })
    };
    let (bombyx1, bombyx2) = (bombyx(1)?, bombyx(2)?);
    let (rayon1, rayon2) = (rayon(1)?, rayon(2)?);
    let (chili1, chili2) = (chili(1), chili(2));
    let runtimes = [
        (Runtime::Serial, 1),
        (Runtime::Bombyx(&bombyx1), 1),
        (Runtime::Bombyx(&bombyx2), 2),
        (Runtime::Rayon(&rayon1), 1),
        (Runtime::Rayon(&rayon2), 2),
        (Runtime::Chili(&chili1), 1),
        (Runtime::Chili(&chili2), 2),
    ];

    for workload in workloads {
        let mut prepared = workload.prepare(size, grain, 42);
        println!("{}: {}", workload.name(), prepared.input());
        for (on, processors) in runtimes {
            let first = prepared.run(on).time;
            prepared.check()?;
            let best = (0..2).map(|_| prepared.run(on).time).fold(first, Ord::min);
            print!("  {}/{processors} {:.1} ms", on.name(), best.as_secs_f64() * 1e3);
            std::io::stdout().flush()?;
        }
        println!();
    }
    Ok(())
}
