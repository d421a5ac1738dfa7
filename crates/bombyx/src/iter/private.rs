//! Traits that appear in bounds, but that nobody else may implement.

use std::convert::Infallible;
use std::ops::ControlFlow;
use std::task::Poll;

/// What `?` works on: `Option`, `Result`, `ControlFlow`, and `Poll` of results.
pub trait Try: Sealed {
    /// The value in case of success.
    type Output;
    /// The value in case of failure.
    type Residual;

    /// Success, with this value.
    fn from_output(output: Self::Output) -> Self;
    /// Failure, with this value.
    fn from_residual(residual: Self::Residual) -> Self;
    /// Tells whether this is success or failure.
    fn branch(self) -> ControlFlow<Self::Residual, Self::Output>;
}

/// Keeps others from implementing a trait.
pub trait Sealed {}

impl<T> Sealed for Option<T> {}
impl<T> Try for Option<T> {
    type Output = T;
    type Residual = Option<Infallible>;

    fn from_output(output: T) -> Self {
        Some(output)
    }
    fn from_residual(_: Self::Residual) -> Self {
        None
    }
    fn branch(self) -> ControlFlow<Self::Residual, T> {
        self.map_or(ControlFlow::Break(None), ControlFlow::Continue)
    }
}

impl<T, E> Sealed for Result<T, E> {}
impl<T, E> Try for Result<T, E> {
    type Output = T;
    type Residual = Result<Infallible, E>;

    fn from_output(output: T) -> Self {
        Ok(output)
    }
    fn from_residual(residual: Self::Residual) -> Self {
        residual.map(|never| match never {})
    }
    fn branch(self) -> ControlFlow<Self::Residual, T> {
        self.map_or_else(|error| ControlFlow::Break(Err(error)), ControlFlow::Continue)
    }
}

impl<B, T> Sealed for ControlFlow<B, T> {}
impl<B, T> Try for ControlFlow<B, T> {
    type Output = T;
    type Residual = ControlFlow<B, Infallible>;

    fn from_output(output: T) -> Self {
        ControlFlow::Continue(output)
    }
    fn from_residual(residual: Self::Residual) -> Self {
        match residual {
            ControlFlow::Break(value) => ControlFlow::Break(value),
            ControlFlow::Continue(never) => match never {},
        }
    }
    fn branch(self) -> ControlFlow<Self::Residual, T> {
        match self {
            ControlFlow::Continue(output) => ControlFlow::Continue(output),
            ControlFlow::Break(value) => ControlFlow::Break(ControlFlow::Break(value)),
        }
    }
}

impl<T, E> Sealed for Poll<Result<T, E>> {}
impl<T, E> Try for Poll<Result<T, E>> {
    type Output = Poll<T>;
    type Residual = Result<Infallible, E>;

    fn from_output(output: Poll<T>) -> Self {
        output.map(Ok)
    }
    fn from_residual(residual: Self::Residual) -> Self {
        Poll::Ready(residual.map(|never| match never {}))
    }
    fn branch(self) -> ControlFlow<Self::Residual, Poll<T>> {
        match self {
            Poll::Pending => ControlFlow::Continue(Poll::Pending),
            Poll::Ready(Ok(output)) => ControlFlow::Continue(Poll::Ready(output)),
            Poll::Ready(Err(error)) => ControlFlow::Break(Err(error)),
        }
    }
}

impl<T, E> Sealed for Poll<Option<Result<T, E>>> {}
impl<T, E> Try for Poll<Option<Result<T, E>>> {
    type Output = Poll<Option<T>>;
    type Residual = Result<Infallible, E>;

    fn from_output(output: Poll<Option<T>>) -> Self {
        output.map(|output| output.map(Ok))
    }
    fn from_residual(residual: Self::Residual) -> Self {
        Poll::Ready(Some(residual.map(|never| match never {})))
    }
    fn branch(self) -> ControlFlow<Self::Residual, Poll<Option<T>>> {
        match self {
            Poll::Pending => ControlFlow::Continue(Poll::Pending),
            Poll::Ready(None) => ControlFlow::Continue(Poll::Ready(None)),
            Poll::Ready(Some(Ok(output))) => ControlFlow::Continue(Poll::Ready(Some(output))),
            Poll::Ready(Some(Err(error))) => ControlFlow::Break(Err(error)),
        }
    }
}
