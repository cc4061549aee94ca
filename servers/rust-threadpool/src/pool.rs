//! A fixed number of threads that take jobs from one channel.

use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex};
use std::thread;

type Job = Box<dyn FnOnce() + Send>;

pub struct ThreadPool {
    jobs: Sender<Job>,
}

impl ThreadPool {
    pub fn new(size: usize) -> Self {
        let (jobs, queue) = mpsc::channel();
        let queue = Arc::new(Mutex::new(queue));
        for _ in 0..size {
            let queue = Arc::clone(&queue);
            thread::spawn(move || work(&queue));
        }
        Self { jobs }
    }

    pub fn execute(&self, job: impl FnOnce() + Send + 'static) {
        self.jobs
            .send(Box::new(job))
            .expect("a worker lives as long as the pool");
    }
}

/// Runs one job after the other until the pool is gone.
fn work(queue: &Mutex<Receiver<Job>>) {
    loop {
        // This statement releases the lock, so that others can take jobs while this one runs.
        let Ok(job) = queue.lock().unwrap().recv() else {
            return;
        };
        job();
    }
}
