//! Programs that must not compile. Beside each stands a twin that differs only in the mistake and does compile. So each
//! program fails because of that mistake and no other. Only rustdoc's tests see this.

/// The halves of a join may run on different threads, so what they capture must be `Send`.
///
/// ```
/// let shared = std::sync::Arc::new(1);
/// let other = std::sync::Arc::clone(&shared);
/// bombyx::join(move || drop(shared), move || drop(other));
/// ```
/// ```compile_fail,E0277
/// let shared = std::rc::Rc::new(1);
/// let other = std::rc::Rc::clone(&shared);
/// bombyx::join(move || drop(shared), move || drop(other));
/// ```
///
/// That also holds for the first half: outside a pool it moves into one.
///
/// ```
/// let cell = std::sync::Mutex::new(1);
/// bombyx::join(|| drop(cell.lock()), || ());
/// ```
/// ```compile_fail,E0277
/// let cell = std::cell::Cell::new(1);
/// bombyx::join(|| cell.set(2), || ());
/// ```
///
/// What they return must be `Send` too.
///
/// ```
/// bombyx::join(|| (), || std::sync::Arc::new(1));
/// ```
/// ```compile_fail,E0277
/// bombyx::join(|| (), || std::rc::Rc::new(1));
/// ```
struct NotSend;

/// The halves of a join run at the same time.
///
/// ```
/// let mut sums = (0, 0);
/// let (a, b) = (&mut sums.0, &mut sums.1);
/// bombyx::join(|| *a += 1, || *b += 1);
/// ```
/// ```compile_fail,E0524
/// let mut sums = (0, 0);
/// let (a, b) = (&mut sums.0, &mut sums.1);
/// bombyx::join(|| *a += 1, || *a += 1);
/// ```
///
/// The iterations of a loop do too.
///
/// ```
/// let sum = std::sync::atomic::AtomicUsize::new(0);
/// bombyx::for_each(0..10, |i| { sum.fetch_add(i, std::sync::atomic::Ordering::Relaxed); });
/// ```
/// ```compile_fail,E0594
/// let mut sum = 0;
/// bombyx::for_each(0..10, |i| { sum += i; });
/// ```
struct NotShared;

/// A spawned closure may outlive the body of its scope, but not the scope.
///
/// ```
/// let outside = 1;
/// bombyx::scope(|s| s.spawn(|_| assert_eq!(outside, 1)));
/// ```
/// ```compile_fail,E0373
/// bombyx::scope(|s| {
///     let inside = 1;
///     s.spawn(|_| assert_eq!(inside, 1));
/// });
/// ```
///
/// The scope itself cannot leave.
///
/// ```
/// let mut length = None;
/// bombyx::scope(|s| { length = Some(size_of_val(s)); });
/// ```
/// ```compile_fail,E0521
/// let mut escaped = None;
/// bombyx::scope(|s| { escaped = Some(s); });
/// ```
///
/// A value that a closure borrows mutably is not free before the scope has ended.
///
/// ```
/// let mut word = String::new();
/// bombyx::scope(|s| s.spawn(|_| word.push('a')));
/// word.push('b');
/// ```
/// ```compile_fail,E0499
/// let mut word = String::new();
/// bombyx::scope(|s| {
///     s.spawn(|_| word.push('a'));
///     word.push('b');
/// });
/// ```
///
/// What it captures moves to another thread.
///
/// ```
/// let shared = std::sync::Arc::new(1);
/// bombyx::scope(|s| s.spawn(move |_| drop(shared)));
/// ```
/// ```compile_fail,E0277
/// let shared = std::rc::Rc::new(1);
/// bombyx::scope(|s| s.spawn(move |_| drop(shared)));
/// ```
struct EscapesItsScope;

/// A closure that nobody waits for can borrow nothing.
///
/// ```
/// let pool = bombyx::Pool::builder().processors(1).build()?;
/// let word = String::from("spawn");
/// pool.spawn(move || assert_eq!(word, "spawn"));
/// # Ok::<(), bombyx::Error>(())
/// ```
/// ```compile_fail,E0373
/// let pool = bombyx::Pool::builder().processors(1).build()?;
/// let word = String::from("spawn");
/// pool.spawn(|| assert_eq!(word, "spawn"));
/// # Ok::<(), bombyx::Error>(())
/// ```
/// ```compile_fail,E0597
/// let pool = bombyx::Pool::builder().processors(1).build()?;
/// let word = String::from("spawn");
/// let borrowed = &word;
/// pool.spawn(move || assert_eq!(borrowed, "spawn"));
/// # Ok::<(), bombyx::Error>(())
/// ```
///
/// What runs in a pool may run on another thread.
///
/// ```
/// let pool = bombyx::Pool::builder().processors(1).build()?;
/// let shared = std::sync::Arc::new(1);
/// pool.run(|| assert_eq!(*shared, 1));
/// # Ok::<(), bombyx::Error>(())
/// ```
/// ```compile_fail,E0277
/// let pool = bombyx::Pool::builder().processors(1).build()?;
/// let shared = std::rc::Rc::new(1);
/// pool.run(|| assert_eq!(*shared, 1));
/// # Ok::<(), bombyx::Error>(())
/// ```
struct Detached;

/// A reducer stays where it was made; others get references to it.
///
/// ```
/// let sum = bombyx::Reducer::new(bombyx::reducers::Sum::<u32>::new());
/// bombyx::join(|| (), || sum.with(|sum| *sum += 1));
/// assert_eq!(sum.into_inner(), 1);
/// ```
/// ```compile_fail,E0277
/// let sum = bombyx::Reducer::new(bombyx::reducers::Sum::<u32>::new());
/// bombyx::join(|| (), move || assert_eq!(sum.into_inner(), 0));
/// ```
///
/// Views that borrow need a scope.
///
/// ```
/// let word = String::from("silk");
/// let append = bombyx::reducers::Append::<Vec<&str>>::new();
/// let ((), list) = bombyx::Reducer::scoped(append, |list| list.with(|list| list.push(&word)));
/// assert_eq!(list, ["silk"]);
/// ```
/// ```compile_fail,E0597
/// let word = String::from("silk");
/// let append = bombyx::reducers::Append::<Vec<&str>>::new();
/// let list = bombyx::Reducer::new(append);
/// list.with(|list| list.push(&word));
/// ```
///
/// What a closure takes out of a reducer's view may not be the view itself.
///
/// ```
/// let list = bombyx::Reducer::new(bombyx::reducers::Append::<Vec<u32>>::new());
/// assert_eq!(list.with(|list| list.len()), 0);
/// ```
/// ```compile_fail
/// let list = bombyx::Reducer::new(bombyx::reducers::Append::<Vec<u32>>::new());
/// list.with(|list| list).push(1);
/// ```
struct Reduced;

/// What everything below inherits is shared by threads.
///
/// ```
/// static NAME: bombyx::TaskLocal<std::sync::Arc<str>> = bombyx::TaskLocal::new();
/// ```
/// ```compile_fail,E0277
/// static NAME: bombyx::TaskLocal<std::rc::Rc<str>> = bombyx::TaskLocal::new();
/// ```
struct Inherited;
