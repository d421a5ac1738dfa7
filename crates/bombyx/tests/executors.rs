//! Tasks on the executors of others: tokio and smol, on one thread, which is never blocked. Also runs the examples.

use bombyx::{Pool, TaskLocal};
use std::sync::mpsc;
use std::{fs, thread};

#[path = "../examples/web.rs"]
#[allow(unreachable_pub)]
mod web;
#[path = "../examples/words.rs"]
#[allow(unreachable_pub)]
mod words;

fn pool(processors: usize) -> Pool {
    Pool::builder().processors(processors).build().unwrap()
}

fn tokio_runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_io().build().unwrap()
}

/// A closure in the pool waits for what the executor's only thread does later. If that thread were blocked while it
/// awaits the closure, nothing would ever end.
#[test]
fn the_only_thread_of_tokio_is_not_blocked() {
    for processors in [1, 2] {
        let pool = pool(processors);
        tokio_runtime().block_on(async {
            let (sender, receiver) = mpsc::channel();
            let waits = pool.run_async(move || bombyx::blocking(|| receiver.recv().unwrap()));
            let (sender2, receiver2) = mpsc::channel();
            let task = pool.spawn(move || bombyx::blocking(|| receiver2.recv().unwrap()));
            let (a, b, ()) = tokio::join!(waits, task, async move {
                tokio::task::yield_now().await;
                sender2.send(2).unwrap();
                sender.send(1).unwrap();
            });
            assert_eq!((a, b.unwrap()), (1, 2));
        });
    }
}

#[test]
fn the_only_thread_of_smol_is_not_blocked() {
    let pool = pool(1);
    let executor = smol::LocalExecutor::new();
    smol::block_on(executor.run(async {
        let (sender, receiver) = mpsc::channel();
        let waits = executor.spawn(pool.run_async(move || bombyx::blocking(|| receiver.recv().unwrap())));
        let sends = executor.spawn(async move {
            smol::future::yield_now().await;
            sender.send(7).unwrap();
        });
        sends.await;
        assert_eq!(waits.await, 7);
    }));
}

/// A future of tokio inside of a pool: its processor goes on with other work meanwhile.
#[test]
fn a_pool_waits_for_a_future_of_tokio() {
    let runtime = tokio_runtime();
    let (sender, receiver) = tokio::sync::oneshot::channel();
    let pool = pool(1);
    let answer = pool.spawn(move || {
        let (answer, ()) =
            bombyx::join(|| bombyx::block_on(receiver).unwrap(), || sender.send(6 * 7).unwrap());
        answer
    });
    assert_eq!(runtime.block_on(answer).unwrap(), 42);
}

/// Many tasks at once, some of which panic, are aborted or dropped.
#[test]
fn tasks_of_all_kinds_end() {
    let pool = pool(2);
    tokio_runtime().block_on(async {
        let tasks: Vec<_> = (0..200u32)
            .map(|n| pool.spawn(move || if n % 7 == 0 { std::panic::resume_unwind(Box::new(n)) } else { n }))
            .collect();
        for (n, task) in (0..).zip(tasks) {
            let aborted = n % 5 == 0 && task.abort();
            match task.await {
                Ok(value) => assert!(value == n && n % 7 != 0 && !aborted),
                Err(error) if error.is_aborted() => assert!(aborted),
                Err(error) => {
                    assert_eq!(error.into_panic().unwrap().downcast_ref(), Some(&n));
                    assert_eq!(n % 7, 0);
                }
            }
        }
    });
}

#[test]
fn a_task_inherits_the_context_of_its_spawn() {
    static USER: TaskLocal<&str> = TaskLocal::new();
    let pool = pool(2);
    let task = USER.scope("ada", || pool.spawn(|| bombyx::join(|| USER.get(), || USER.get())));
    assert_eq!(USER.get(), None);
    assert_eq!(smol::block_on(task).unwrap(), (Some("ada"), Some("ada")));
}

/// The web server of the example answers several clients at once.
#[test]
fn the_web_server_renders_tiles() {
    use std::io::{Read as _, Write as _};
    let runtime = tokio_runtime();
    let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
    let address = listener.local_addr().unwrap();
    let pool: &'static Pool = Box::leak(Box::new(pool(2)));
    thread::spawn(move || runtime.block_on(web::serve(listener, pool)));
    let get = |path: &str| {
        let mut stream = std::net::TcpStream::connect(address).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nhost: test\r\n\r\n").unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        answer
    };
    thread::scope(|threads| {
        for n in 0..4 {
            threads.spawn(move || {
                let answer = get(&format!("/tile/{n}/3"));
                let pixels = &answer[answer.len() - web::SIDE * web::SIDE..];
                assert!(answer.starts_with(b"HTTP/1.1 200 OK\r\n"));
                assert_eq!(pixels, web::tile(n, 3));
            });
        }
        threads.spawn(|| assert!(get("/tile/8/0").starts_with(b"HTTP/1.1 404")));
    });
}

#[test]
fn the_words_of_files_are_counted() {
    let path = std::env::temp_dir().join(format!("bombyx-words-{}", std::process::id()));
    fs::write(&path, "The moth, the silk\nand THE leaf.\n").unwrap();
    let counts = smol::block_on(words::count_files(vec![path.clone(), path.clone()])).unwrap();
    fs::remove_file(path).unwrap();
    assert_eq!(counts["the"], 6);
    assert_eq!(counts.values().sum::<usize>(), 14);
}
