//! What a spawned closure costs that does nothing and carries nothing: `spawn_cost [CLOSURES [SCOPES [PROCESSORS]]]`
//! prints the time of each. Defaults: 5,000,000 closures, all in one scope, one processor.
//!
//! In a scope of few closures, all of them wait in the deque. In a scope of many, most run in place, because
//! enough others wait already. `scripts/instructions` counts the instructions of both.

use std::error::Error;
use std::time::Instant;

fn main() -> Result<(), Box<dyn Error>> {
    let mut numbers = std::env::args().skip(1).map(|word| word.parse::<usize>());
    let mut next = |default| numbers.next().unwrap_or(Ok(default));
    let (closures, scopes, processors) = (next(5_000_000)?, next(1)?.max(1), next(1)?);
    let pool = bombyx::Pool::builder().processors(processors).build()?;
    let round = || {
        let start = Instant::now();
        pool.run(|| {
            for _ in 0..scopes {
                bombyx::scope(|scope| {
                    for _ in 0..closures / scopes {
                        scope.spawn(|_| ());
                    }
                });
            }
        });
        start.elapsed().as_secs_f64()
    };
    round(); // warms up
    let time = round();
    let count = (closures / scopes * scopes).max(1);
    println!(
        "{count} closures in {scopes} scopes, P = {processors}: {:.1} ms, {:.1} ns each",
        time * 1e3,
        time * 1e9 / count as f64
    );
    Ok(())
}
