use super::*;

fn small() -> Config {
    Config { lines: 3, bytes: 10_000, total_bytes: 100_000, line_bytes: 8, linger: Duration::from_secs(10) }
}

fn texts(hub: &OutputHub, job: JobId, after: u64) -> Vec<String> {
    hub.read(job, after).map(|chunk| chunk.lines.into_iter().map(|line| line.text).collect()).unwrap_or_default()
}

#[test]
fn lines_of_both_streams_are_numbered_together_in_the_order_they_came() {
    let (hub, job) = (OutputHub::default(), JobId::fresh());
    let feed = hub.open(job);
    let (mut out, mut err) = (feed.lines(OutputStream::Stdout), feed.lines(OutputStream::Stderr));
    out.push(b"one\ntw");
    err.push(b"warning\r\n");
    out.push(b"o\n");
    let chunk = hub.read(job, 0).expect("under way");
    let seen: Vec<_> = chunk.lines.iter().map(|line| (line.stream, line.text.as_str())).collect();
    let (stdout, stderr) = (OutputStream::Stdout, OutputStream::Stderr);
    assert_eq!(seen, [(stdout, "one"), (stderr, "warning"), (stdout, "two")]);
    assert_eq!((chunk.first_line, chunk.next_line), (0, 3));
    assert_eq!(texts(&hub, job, 2), ["two"]);
    let later = hub.read(job, 99).expect("under way");
    assert_eq!((later.first_line, later.next_line, later.lines.len()), (3, 3, 0));
}

#[test]
fn what_the_command_was_given_in_confidence_is_not_published() {
    let (hub, job) = (OutputHub::default(), JobId::fresh());
    let feed = hub.open(job);
    let given = [("API_TOKEN".to_owned(), "hush-hush-hush".to_owned())];
    let mut lines = feed.lines(OutputStream::Stdout).hiding(Arc::new(KnownSecrets::of(&given.into())));
    lines.push(b"with hush-hu");
    lines.push(b"sh-hush once\nhush-hush-hush");
    drop(lines);
    assert_eq!(texts(&hub, job, 0), ["with *** once", "***"]);
}

#[test]
fn old_lines_make_room_and_the_answer_says_where_it_starts() {
    let (hub, job) = (OutputHub::new(small()), JobId::fresh());
    let feed = hub.open(job);
    feed.lines(OutputStream::Stdout).push(b"a\nb\nc\nd\ne\n");
    let chunk = hub.read(job, 0).expect("under way");
    assert_eq!((chunk.first_line, chunk.next_line), (2, 5));
    assert_eq!(texts(&hub, job, 0), ["c", "d", "e"]);
}

#[test]
fn a_line_without_an_end_is_cut_into_pieces_and_no_character_is_split() {
    let (hub, job) = (OutputHub::new(small()), JobId::fresh());
    let feed = hub.open(job);
    let mut lines = feed.lines(OutputStream::Stdout);
    lines.push("1234567€8901234".as_bytes());
    assert_eq!(texts(&hub, job, 0), ["1234567", "€89012"], "the rest waits for its end");
    drop(lines);
    assert_eq!(texts(&hub, job, 2), ["34"]);
}

#[test]
fn a_line_of_just_the_allowed_length_stays_one_line() {
    let (hub, job) = (OutputHub::new(small()), JobId::fresh());
    let feed = hub.open(job);
    feed.lines(OutputStream::Stdout).push(b"12345678\nx\n");
    assert_eq!(texts(&hub, job, 0), ["12345678", "x"]);
}

#[test]
fn what_is_no_text_can_still_be_read() {
    let (hub, job) = (OutputHub::new(small()), JobId::fresh());
    let feed = hub.open(job);
    feed.lines(OutputStream::Stdout).push(b"a\xff\0b\n");
    assert_eq!(texts(&hub, job, 0), ["a\u{fffd}\u{fffd}b"]);
    feed.lines(OutputStream::Stdout).push(&[0xff; 100]);
    assert_eq!(texts(&hub, job, 0).len(), 3, "bytes that never make a character are cut as well");
}

#[tokio::test(start_paused = true)]
async fn lines_stay_a_moment_after_the_attempt_and_then_go() {
    let (hub, job) = (OutputHub::new(small()), JobId::fresh());
    let feed = hub.open(job);
    feed.lines(OutputStream::Stdout).push(b"goodbye\n");
    tokio::time::advance(Duration::from_hours(1)).await;
    assert_eq!(texts(&hub, job, 0).len(), 1, "an attempt may take its time");
    drop(feed);
    tokio::time::advance(Duration::from_secs(9)).await;
    assert_eq!(texts(&hub, job, 0), ["goodbye"]);
    tokio::time::advance(Duration::from_secs(1)).await;
    assert_eq!(hub.read(job, 0), None);
    assert_eq!((hub.jobs(), hub.shared.board().bytes), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_second_attempt_starts_anew_and_the_first_one_cannot_disturb_it() {
    let (hub, job) = (OutputHub::new(small()), JobId::fresh());
    let zombie = hub.open(job);
    let mut old = zombie.lines(OutputStream::Stdout);
    old.push(b"old\n");
    let feed = hub.open(job);
    feed.lines(OutputStream::Stdout).push(b"new\n");
    old.push(b"older\n");
    drop((old, zombie));
    tokio::time::advance(Duration::from_mins(1)).await;
    assert_eq!(texts(&hub, job, 0), ["new"]);
}

#[tokio::test(start_paused = true)]
async fn the_board_is_bounded_whatever_many_jobs_print() {
    let config = Config { total_bytes: 20_000, lines: 1_000, ..small() };
    let hub = OutputHub::new(config.clone());
    let finished: Vec<JobId> = (0..100).map(|_| JobId::fresh()).collect();
    for job in &finished {
        hub.open(*job).lines(OutputStream::Stdout).push(&b"0123456\n".repeat(20));
    }
    assert!(hub.shared.board().bytes <= config.total_bytes);
    assert!(hub.jobs() < 100, "the oldest of the ended made room");
    assert!(hub.read(finished[99], 0).is_some(), "the newest is there");

    let running: Vec<(JobId, OutputFeed)> = (0..10).map(|_| JobId::fresh()).map(|job| (job, hub.open(job))).collect();
    for _ in 0..50 {
        for (_, feed) in &running {
            feed.lines(OutputStream::Stderr).push(&b"0123456\n".repeat(20));
        }
    }
    assert!(hub.shared.board().bytes <= config.total_bytes, "{}", hub.shared.board().bytes);
    assert!(running.iter().all(|(job, _)| hub.read(*job, 0).is_some()));
    drop(running);
    tokio::time::advance(config.linger).await;
    assert_eq!((hub.jobs(), hub.shared.board().bytes), (0, 0));
}
