use prony_testkit::{contains, starts_with};

use super::*;

fn lines() -> LineOf {
    let text: String = (0..8).map(|number| format!("line {number}\n")).collect();
    LineOf::new("quotes.txt", text.as_bytes()).unwrap()
}

/// The evidence against draws: `draw` gets the connection, the place on it, and the place among all.
fn verdict(kept_open: bool, mut draw: impl FnMut((usize, usize, usize)) -> usize) -> String {
    let lines = lines();
    let mut all = 0;
    let sequences = (0..CONNECTIONS).map(|connection| {
        let draws = (0..DRAWS_PER_CONNECTION).map(|place| {
            all += 1;
            draw((connection, place, all - 1))
        });
        draws.collect()
    });
    let draws = Draws::new(&lines, sequences.collect(), kept_open);
    draws
        .check()
        .map_or_else(|mismatch| mismatch.received, |()| "right".to_owned())
}

#[test]
fn independent_draws_of_any_source_are_accepted() {
    for seed in 0..400 {
        let mut random = fastrand::Rng::with_seed(seed);
        assert_eq!(verdict(true, |_| random.usize(..8)), "right", "seed {seed}");
        let independent = verdict(false, |_| random.usize(..8));
        assert_eq!(independent, "right", "seed {seed}");
        // Several processes, each with its own draws, whichever accepts a connection.
        let process = |n| fastrand::Rng::with_seed(seed * 4 + n);
        let mut processes = [0, 1, 2, 3].map(process);
        let of_several = verdict(true, |(connection, ..)| {
            processes[connection % 4].usize(..8)
        });
        assert_eq!(of_several, "right", "seed {seed}");
    }
}

#[test]
fn every_cheat_is_reported() {
    let mut random = fastrand::Rng::with_seed(5);
    let two = verdict(true, |_| random.usize(..2));
    assert_eq!(two, "drew only 2 of 8 lines in 400 responses");
    let one = verdict(true, |_| 3);
    assert_eq!(one, "drew only 1 of 8 lines in 400 responses");
    for kept_open in [true, false] {
        let in_turn = verdict(kept_open, |(_, _, all)| all % 8);
        starts_with(&in_turn, "draws the lines in turn: 39");
        let own = verdict(kept_open, |(connection, place, _)| {
            (connection + place * 3) % 8
        });
        starts_with(&own, "draws the lines in turn: ");
    }
    let same = verdict(true, |(connection, ..)| connection);
    assert_eq!(same, "each connection keeps getting the same line");
    let often = verdict(true, |_| random.usize(..16).min(7));
    starts_with(&often, "drew `line 7` ");
    let times = " times in 400 responses; about 50 are expected";
    assert!(often.ends_with(times), "{often}");
}

#[test]
fn dependent_draws_are_found() {
    // A line is reused for some requests, as by a cache.
    let mut random = fastrand::Rng::with_seed(6);
    let mut kept = 0;
    let cached = verdict(true, |(_, _, all)| {
        if all % 4 == 0 {
            kept = random.usize(..8);
        }
        kept
    });
    let repeats = " draws repeat the previous one";
    contains(&cached, &format!("{repeats}; about 49 are expected"));
    // All lines, in a new random order each time.
    let mut deck: Vec<usize> = Vec::new();
    let dealt = verdict(true, |_| {
        if deck.is_empty() {
            deck = (0..8).collect();
            random.shuffle(&mut deck);
        }
        deck.pop().unwrap()
    });
    contains(&dealt, repeats);
    // Connections that share a seed.
    let mut seeded = fastrand::Rng::with_seed(0);
    let alike = verdict(true, |(_, place, _)| {
        if place == 0 {
            seeded = fastrand::Rng::with_seed(9);
        }
        seeded.usize(..8)
    });
    starts_with(&alike, "connections draw alike: 350 of 350");
    // The next line is one of three.
    let mut before = 0;
    let near = verdict(true, |_| {
        before = (before + random.usize(..3)) % 8;
        before
    });
    assert_ne!(near, "right");
}

#[test]
fn a_line_that_occurs_twice_is_expected_twice_as_often() {
    let lines = LineOf::new("quotes.txt", b"one\ntwo\r\n\none\nthree\n").unwrap();
    assert_eq!(lines.count(), 3);
    assert_eq!(lines.shares()[lines.number(b"one\n").unwrap()], 0.5);
    let mut random = fastrand::Rng::with_seed(1);
    let all = ["one", "two", "one", "three"];
    let draws = (0..400).map(|_| lines.number(all[random.usize(..4)].as_bytes()).unwrap());
    let draws = Draws::new(&lines, vec![draws.collect()], true);
    assert_eq!(draws.check(), Ok(()));
}
