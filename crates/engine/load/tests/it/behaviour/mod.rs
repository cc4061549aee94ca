//! How the engine behaves, whichever event loop it runs.

/// Makes three tests of each of these functions, which take an event loop: one over each, and one over that which the
/// load chooses, and changes to, by its first responses.
macro_rules! over_each_loop {
    ($($behaviour:ident),* $(,)?) => {
        mod over_epoll {
            $(#[test]
            fn $behaviour() {
                super::$behaviour(prony_load::EventLoopChoice::Epoll);
            })*
        }

        mod over_io_uring {
            $(#[test]
            fn $behaviour() {
                super::$behaviour(prony_load::EventLoopChoice::IoUring);
            })*
        }

        mod over_auto {
            $(#[test]
            fn $behaviour() {
                super::$behaviour(prony_load::EventLoopChoice::Auto);
            })*
        }
    };
}

mod auto;
mod batches;
mod bounds;
mod closing;
mod engine;
mod excess;
mod flows;
mod hostile;
mod parts;
mod refused_plans;
mod sampling;
mod shapes;
mod slow_accept;
mod sockets;
mod stream_failures;
mod stream_limit;
mod timeline;
mod unprocessed;
