use proptest::prelude::*;

use super::*;

const FLEET: &str = "k3-fleet";

fn lines(agent: usize, messages: &[String]) -> Vec<String> {
    let mut framer = Framer::new(FLEET, agent, 0xabc + agent as u64);
    let lines = messages.iter().flat_map(|one| framer.lines(one).unwrap());
    lines.collect()
}

fn frames() -> Frames {
    Frames::new(FLEET, 4)
}

/// What the lines join to, or the first error.
fn joined(lines: &[String]) -> Result<Vec<Framed>, FrameError> {
    let mut frames = frames();
    let mut messages = Vec::new();
    for line in lines {
        if let Line::Message(message) = frames.take(line)? {
            messages.push(message);
        }
    }
    Ok(messages)
}

fn long(letter: &str) -> String {
    letter.repeat(2500 / letter.len())
}

/// Three lines of one message.
fn three_lines() -> Vec<String> {
    let lines = lines(2, &[long("a") + "b"]);
    assert_eq!(lines.len(), 4);
    lines
}

#[test]
fn a_short_message_is_one_line() {
    let mut framer = Framer::new(FLEET, 3, 0xbeef);
    let line = framer.lines("{}").unwrap().concat();
    assert!(line.starts_with("prony k3-fleet 3 beef 0 0/1 "), "{line}");
    assert!(line.ends_with(" {}\n"), "{line}");
    let second = framer.lines("{}").unwrap().concat();
    assert!(
        second.starts_with("prony k3-fleet 3 beef 1 0/1 "),
        "{second}"
    );
}

#[test]
fn lines_of_others_are_notes() {
    for line in [
        "",
        "srun: job 7 queued",
        "prony",
        "prony 0.1.0",
        "prony k3: a sentence",
        "prony other is here",
    ] {
        assert_eq!(frames().take(line), Ok(Line::Note), "{line}");
    }
}

#[test]
fn a_message_of_another_fleet_is_an_error() {
    let line = Framer::new("other", 1, 1).lines("{}").unwrap().concat();
    let fleet = "other".into();
    assert_eq!(
        frames().take(&line),
        Err(FrameError::ForeignFleet { agent: 1, fleet })
    );
}

#[test]
fn a_message_of_an_agent_that_the_fleet_has_not_is_an_error() {
    let line = lines(4, &["{}".into()]).concat();
    let error = FrameError::ForeignAgent {
        agent: 4,
        agents: 4,
    };
    assert_eq!(frames().take(&line), Err(error));
}

#[test]
fn a_second_process_of_an_agent_is_an_error() {
    let mut frames = frames();
    let first = Framer::new(FLEET, 1, 1).lines("{}").unwrap().concat();
    let second = Framer::new(FLEET, 1, 2).lines("{}").unwrap().concat();
    assert!(frames.take(&first).is_ok());
    assert_eq!(
        frames.take(&second),
        Err(FrameError::Restarted { agent: 1 })
    );
}

#[test]
fn a_missing_part_is_an_error() {
    let mut lines = three_lines();
    lines.remove(1);
    let (agent, sequence, expected) = (2, 0, 1);
    let error = FrameError::Missing {
        agent,
        sequence,
        expected,
    };
    assert_eq!(joined(&lines), Err(error));
}

#[test]
fn a_missing_end_is_an_error_when_the_next_message_begins() {
    let mut lines = lines(2, &[long("a"), "{}".into()]);
    let end = lines.len() - 2;
    lines.remove(end);
    let (agent, sequence, expected) = (2, 0, end);
    let error = FrameError::Missing {
        agent,
        sequence,
        expected,
    };
    assert_eq!(joined(&lines), Err(error));
}

#[test]
fn a_missing_message_is_an_error() {
    let mut lines = lines(2, &["1".into(), "2".into(), "3".into()]);
    lines.remove(1);
    let error = FrameError::MissingMessage {
        agent: 2,
        expected: 1,
    };
    assert_eq!(joined(&lines), Err(error));
}

#[test]
fn a_repeated_part_or_message_is_an_error() {
    let mut parts = three_lines();
    parts.insert(1, parts[0].clone());
    let repeated = |sequence, part| FrameError::Repeated {
        agent: 2,
        sequence,
        part,
    };
    assert_eq!(joined(&parts), Err(repeated(0, 0)));
    let mut messages = lines(2, &["1".into(), "2".into()]);
    messages.push(messages[1].clone());
    assert_eq!(joined(&messages), Err(repeated(1, 0)));
}

#[test]
fn parts_of_two_messages_do_not_mix() {
    let (one, other) = (lines(2, &[long("a")]), lines(2, &[long("b")]));
    let mixed = [&one[..1], &other[1..]].concat();
    assert_eq!(
        joined(&mixed),
        Err(FrameError::Damaged {
            agent: 2,
            sequence: 0
        })
    );
}

#[test]
fn a_header_cut_short_is_an_error() {
    let line = &three_lines()[0][..20];
    assert!(matches!(
        frames().take(line),
        Err(FrameError::Unreadable { .. })
    ));
}

#[test]
fn too_many_parts_are_refused_before_they_fill_the_memory() {
    let line = format!(
        "prony {FLEET} 1 1 0 0/{} 0123456789abcdef x",
        MOST_PARTS + 1
    );
    assert_eq!(frames().take(&line), Err(FrameError::TooLong { agent: 1 }));
    let mut framer = Framer::new(FLEET, 1, 1);
    let message = "a".repeat(LONGEST_MESSAGE + 1);
    assert_eq!(
        framer.lines(&message),
        Err(FrameError::TooLong { agent: 1 })
    );
}

/// A text of several lines, with letters of one to four bytes. To draw each of them would take most of the test's time.
fn long_text(letters: std::ops::Range<usize>) -> impl Strategy<Value = String> {
    let repeated = |(text, letters): (String, usize)| text.chars().cycle().take(letters).collect();
    ("[a-zäß€🦀 ]{7,40}", letters).prop_map(repeated)
}

/// Texts without line breaks, some with several lines.
fn messages() -> impl Strategy<Value = Vec<String>> {
    let short = "[^\r\n]{0,30}";
    proptest::collection::vec(prop_oneof![short, long_text(500..1200)], 0..6)
}

proptest! {
    #[test]
    fn messages_survive_however_the_lines_of_agents_interleave(
        of_agents in proptest::collection::vec(messages(), 4),
        picks in proptest::collection::vec(0usize..4, 200),
    ) {
        let mut waiting: Vec<_> = of_agents.iter().enumerate()
            .map(|(agent, messages)| lines(agent, messages).into_iter())
            .collect();
        let mut mixed = Vec::new();
        for pick in picks.into_iter().chain((0..4).cycle().take(400)) {
            mixed.extend(waiting[pick].next());
        }
        for line in &mixed {
            prop_assert!(line.len() <= LONGEST_LINE);
            prop_assert_eq!(line.matches('\n').count(), 1);
        }
        let framed = joined(&mixed).unwrap();
        for (agent, messages) in of_agents.iter().enumerate() {
            let of_agent = framed.iter().filter(|one| one.agent == agent);
            let texts: Vec<&String> = of_agent.map(|one| &one.text).collect();
            prop_assert_eq!(texts, messages.iter().collect::<Vec<_>>());
        }
    }

    /// One changed byte anywhere never gives another message.
    #[test]
    fn a_damaged_line_never_passes_as_a_message(
        message in long_text(0..1200),
        at in any::<proptest::sample::Index>(),
        letter in "[a-z0-9 /]",
    ) {
        let mut lines = lines(2, std::slice::from_ref(&message));
        let count = lines.len();
        let line = &mut lines[at.index(count)];
        let mut letters: Vec<char> = line.trim_end().chars().collect();
        let place = at.index(letters.len());
        letters[place] = letter.chars().next().unwrap();
        let damaged: String = letters.into_iter().collect();
        let same = damaged == line.trim_end();
        *line = damaged;
        let whole = joined(&lines).unwrap_or_default();
        prop_assert!(whole.is_empty() || same || whole[0].text == message, "{whole:?}");
    }

    #[test]
    fn any_line_is_survived(lines in proptest::collection::vec("(prony k3-fleet )?[^\n]{0,60}", 0..20)) {
        let mut frames = frames();
        for line in &lines {
            let _ = frames.take(line);
        }
    }
}
