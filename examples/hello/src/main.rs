//! A little of everything: forks, loops, scopes, tasks, pools. It ends with what it did, or with a panic.

use bombyx::prelude::*;

fn fib(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = bombyx::join(|| fib(n - 1), || fib(n - 2));
    a + b
}

fn main() {
    assert_eq!(fib(20), 6765);

    let mut numbers: Vec<u64> = (0..100_000u64).map(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
    numbers.par_sort_unstable();
    assert!(numbers.is_sorted());

    let sum: u64 = (0..1_000_000u64).into_par_iter().filter(|n| n % 3 == 0).sum();
    assert_eq!(sum, 166_666_833_333);

    let mut squares = [0; 100];
    bombyx::scope(|scope| {
        for (n, square) in squares.iter_mut().enumerate() {
            scope.spawn(move |_| *square = n * n);
        }
    });
    assert_eq!(squares[99], 9801);

    assert_eq!(bombyx::spawn(|| fib(15)).join().unwrap(), 610);
    assert_eq!(bombyx::blocking(|| 7), 7);
    if cfg!(panic = "unwind") {
        std::panic::set_hook(Box::new(|_| ()));
        assert!(std::panic::catch_unwind(|| bombyx::join(|| 1, || panic!("on purpose"))).is_err());
        let _ = std::panic::take_hook();
    }

    let global = bombyx::Pool::global().processors();
    let pool = bombyx::Pool::builder().processors(2).build();
    let another = match &pool {
        Ok(pool) => {
            assert_eq!(pool.run(|| fib(15)), 610);
            "a pool of two ran".to_owned()
        }
        Err(error) => format!("a pool of two: {error}"),
    };
    println!("all results are right; the global pool has {global} processors; {another}");
}
