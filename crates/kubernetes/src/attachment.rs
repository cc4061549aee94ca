//! The connection to one agent.

use std::sync::Arc;
use std::sync::mpsc::{SyncSender, TrySendError};
use std::time::Duration;

use futures_util::future::{Either, join, select};
use kube::api::AttachedProcess;
use prony_fleet::Event;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{sleep, timeout};

use crate::cluster::causes;
use crate::lines::Lines;

/// How many lines wait to be sent to an agent. One that is further behind does not read.
const LINES: usize = 256;
/// How long an agent's last lines, or the reason why it ended, may take to arrive after the other.
const LAST: Duration = Duration::from_secs(2);
/// How long to wait if too many events wait to be read.
const FULL: Duration = Duration::from_millis(2);

/// Who speaks with an agent.
#[derive(Debug)]
pub struct Attachment {
    /// The pod's unique id.
    pub uid: String,
    /// Takes the reason if Kubernetes says that the agent has ended.
    pub ended: Option<oneshot::Sender<String>>,
}

impl Attachment {
    /// Passes on lines to and from an agent, and finally that it ended.
    pub fn start(
        agent: usize,
        uid: String,
        mut process: AttachedProcess,
        events: SyncSender<Event>,
    ) -> (Self, mpsc::Sender<Arc<str>>) {
        let (input, lines) = mpsc::channel(LINES);
        let (ended, reason) = oneshot::channel();
        if let Some(stdin) = process.stdin() {
            tokio::spawn(write(stdin, lines));
        }
        tokio::spawn(read(agent, process, reason, events));
        let ended = Some(ended);
        (Self { uid, ended }, input)
    }
}

/// Writes until the agent is gone, or nobody sends lines any more: its standard input closes then.
async fn write(mut to: impl AsyncWrite + Unpin, mut lines: mpsc::Receiver<Arc<str>>) {
    while let Some(line) = lines.recv().await {
        if to.write_all(line.as_bytes()).await.is_err() {
            return;
        }
    }
    let _ = to.shutdown().await;
}

async fn read(
    agent: usize,
    mut process: AttachedProcess,
    reason: oneshot::Receiver<String>,
    events: SyncSender<Event>,
) {
    let (stdout, stderr) = (process.stdout(), process.stderr());
    let output = pass_on(stdout, &events, Event::Line);
    let notes = pass_on(stderr, &events, |text| Event::Note {
        agent: Some(agent),
        text,
    });
    let reading = std::pin::pin!(join(output, notes));
    let reason = match select(reading, reason).await {
        Either::Left((_, reason)) => match timeout(LAST, reason).await {
            Ok(Ok(reason)) => reason,
            _ => closed(process).await,
        },
        Either::Right((reason, reading)) => {
            let _ = timeout(LAST, reading).await;
            // Without a reason the fleet is being stopped.
            let Ok(reason) = reason else { return };
            reason
        }
    };
    let agent = Some(agent);
    tell(&events, Event::Ended { agent, reason }).await;
}

async fn closed(process: AttachedProcess) -> String {
    match timeout(LAST, process.join()).await {
        Ok(Err(error)) => format!("the connection to it is lost: {}", causes(&error)),
        Ok(Ok(())) | Err(_) => "the connection to it was closed".into(),
    }
}

/// Makes an event of each line, until there are no more.
async fn pass_on(
    from: Option<impl AsyncRead + Unpin>,
    events: &SyncSender<Event>,
    event: impl Fn(String) -> Event,
) {
    let Some(mut from) = from else { return };
    let mut lines = Lines::default();
    let mut buffer = vec![0; 16 * 1024];
    while let Ok(length @ 1..) = from.read(&mut buffer).await {
        for line in lines.push(&buffer[..length]) {
            tell(events, event(line)).await;
        }
    }
    if let Some(line) = lines.rest() {
        tell(events, event(line)).await;
    }
}

/// Waits, without keeping the other agents waiting, while too many events are unread.
async fn tell(events: &SyncSender<Event>, mut event: Event) {
    while let Err(TrySendError::Full(unsent)) = events.try_send(event) {
        event = unsent;
        sleep(FULL).await;
    }
}
