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
fn joined(lines: &[String]) -> Result<Vec<(usize, String)>, FrameError> {
    let mut frames = frames();
    let mut messages = Vec::new();
    for line in lines {
        if let Line::Message { agent, text } = frames.take(line)? {
            messages.push((agent, text));
        }
    }
    Ok(messages)
}

fn long(letter: &str) -> String {
    letter.repeat(2500 / letter.len())
}

#[test]
fn a_short_message_is_one_line() {
    let mut framer = Framer::new(FLEET, 3, 0xbeef);
    for number in 0..2 {
        let line = framer.lines("{}").unwrap().concat();
        let start = format!("prony k3-fleet 3 beef {number} 0/1 ");
        assert!(
            line.starts_with(&start) && line.ends_with(" {}\n"),
            "{line}"
        );
    }
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
fn lines_that_do_not_belong_together_are_errors() {
    let of_process = |fleet, process| Framer::new(fleet, 2, process).lines("{}").unwrap();
    let texts = ["1", "2", "3"].map(String::from);
    let (parts, messages) = (lines(2, &[long("a") + "b"]), lines(2, &texts));
    assert_eq!(parts.len(), 4);
    let next = lines(2, &[long("a"), "{}".into()]);
    let end = next.len() - 2;
    for (lines, error) in [
        (
            without(&parts, 1),
            "part 1 of message 0 of agent 2 is missing",
        ),
        // It shows when the next message begins.
        (
            without(&next, end),
            "part 3 of message 0 of agent 2 is missing",
        ),
        (without(&messages, 1), "message 1 of agent 2 is missing"),
        (
            [&parts[..1], &parts].concat(),
            "part 0 of message 0 of agent 2 arrived twice",
        ),
        (
            [&messages[..2], &messages[1..]].concat(),
            "part 0 of message 1 of agent 2 arrived twice",
        ),
        (
            mixed(&parts, &lines(2, &[long("c") + "b"])),
            "message 0 of agent 2 arrived damaged",
        ),
        (
            of_process("other", 1),
            "agent 2 of another fleet (other) sent a message",
        ),
        (
            lines(4, &texts),
            "agent 4 sent a message, but the fleet has only 4, counted from 0",
        ),
        (
            [of_process(FLEET, 1), of_process(FLEET, 2)].concat(),
            "a second process sent a message as agent 2: the scheduler restarted it",
        ),
    ] {
        let error_of_lines = joined(&lines).unwrap_err();
        assert_eq!(error_of_lines.to_string(), error);
    }
}

fn without(lines: &[String], number: usize) -> Vec<String> {
    [&lines[..number], &lines[number + 1..]].concat()
}

/// The first line of one message, and the other lines of another one.
fn mixed(one: &[String], other: &[String]) -> Vec<String> {
    [&one[..1], &other[1..]].concat()
}

#[test]
fn a_header_cut_short_is_an_error() {
    let line = &lines(2, &["{}".into()])[0][..20];
    let taken = frames().take(line);
    let error = taken.unwrap_err().to_string();
    assert!(
        error.starts_with("a line that begins like a message"),
        "{error}"
    );
}

#[test]
fn too_many_parts_are_refused_before_they_fill_the_memory() {
    let parts = MOST_PARTS + 1;
    let line = format!("prony {FLEET} 1 1 0 0/{parts} 0123456789abcdef x");
    let too_long = FrameError::too_long(1);
    assert_eq!(frames().take(&line), Err(too_long.clone()));
    let message = "a".repeat(LONGEST_MESSAGE + 1);
    assert_eq!(Framer::new(FLEET, 1, 1).lines(&message), Err(too_long));
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
            let of_agent = framed.iter().filter(|(from, _)| *from == agent);
            let texts: Vec<&String> = of_agent.map(|(_, text)| text).collect();
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
        prop_assert!(whole.is_empty() || same || whole[0].1 == message, "{whole:?}");
    }

    #[test]
    fn any_line_is_survived(lines in proptest::collection::vec("(prony k3-fleet )?[^\n]{0,60}", 0..20)) {
        let mut frames = frames();
        for line in &lines {
            let _ = frames.take(line);
        }
    }
}
