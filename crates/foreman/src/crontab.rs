//! A crontab, read as cron reads it.
//!
//! Each line that asks for something becomes a [`CrontabEntry`]; what cannot be taken over is said. Nothing here knows a server, and
//! whether an expression is right is for the calendar to say.

use std::collections::{BTreeMap, HashMap};

use foreman_client::{CommandSpec, JobSpec, ScheduleSpec, Span};

/// What a line asks for.
#[derive(Clone, Debug)]
pub struct CrontabEntry {
    /// Its number, from 1.
    pub line: usize,
    pub spec: ScheduleSpec,
    /// What is different from how cron does it.
    pub remarks: Vec<String>,
}

/// Something to be said about a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineRemark {
    pub line: usize,
    pub text: String,
}

#[derive(Clone, Debug, Default)]
pub struct Crontab {
    pub entries: Vec<CrontabEntry>,
    /// Lines that are no lines of a crontab.
    pub mistakes: Vec<LineRemark>,
    /// What was understood and is left out.
    pub ignored: Vec<LineRemark>,
}

/// Cron neither tries again nor gives up; a job may run as long as a server lets it.
const LONGEST: &str = "1d";
const NICKNAMES: [&str; 7] = ["@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"];
/// As much of a command as makes a name.
const NAME_CHARS: usize = 40;

/// `has_users`: the word after the time is the user, as in `/etc/crontab`. `zone`: of lines without one of their own.
pub fn read(text: &str, has_users: bool, zone: Option<&str>) -> Crontab {
    let mut reader = Reader { has_users, zone: zone.map(str::to_owned), ..Reader::default() };
    // Some editors begin a file with a mark of its encoding.
    for (place, line) in text.trim_start_matches('\u{feff}').lines().enumerate() {
        reader.line(place + 1, line.trim());
    }
    reader.crontab
}

#[derive(Default)]
struct Reader {
    has_users: bool,
    zone: Option<String>,
    /// `TZ` and `CRON_TZ`, of which the second wins.
    tz: Option<String>,
    cron_tz: Option<String>,
    shell: Option<String>,
    home: Option<String>,
    env: BTreeMap<String, String>,
    names: HashMap<String, usize>,
    crontab: Crontab,
}

impl Reader {
    fn line(&mut self, number: usize, line: &str) {
        if line.is_empty() || line.starts_with('#') {
            return;
        }
        if let Some((name, value)) = assignment(line) {
            self.assign(number, name, value);
            return;
        }
        match self.entry(number, line) {
            Ok(Some(entry)) => self.crontab.entries.push(entry),
            Ok(None) => {}
            Err(text) => self.crontab.mistakes.push(LineRemark { line: number, text }),
        }
    }

    fn assign(&mut self, number: usize, name: &str, value: String) {
        match name {
            "CRON_TZ" => self.cron_tz = Some(value).filter(|zone| !zone.is_empty()),
            "SHELL" => self.shell = Some(value).filter(|shell| !shell.is_empty() && shell != "/bin/sh"),
            "HOME" => {
                self.home = Some(value.clone()).filter(|home| home.starts_with('/'));
                self.env.insert(name.into(), value);
            }
            "MAILTO" | "MAILFROM" | "CONTENT_TYPE" | "CONTENT_TRANSFER_ENCODING" => {
                let text = format!("{name} is ignored: output is stored with the job, and no mail is sent");
                self.crontab.ignored.push(LineRemark { line: number, text });
            }
            "LOGNAME" | "USER" => {
                let text = format!("{name} is ignored: commands run as the worker's user");
                self.crontab.ignored.push(LineRemark { line: number, text });
            }
            "RANDOM_DELAY" | "CRON_WITHIN" | "START_HOURS_RANGE" => {
                let text = format!("{name} is ignored; use `--jitter` of a schedule instead");
                self.crontab.ignored.push(LineRemark { line: number, text });
            }
            _ => {
                if name == "TZ" {
                    self.tz = Some(value.clone()).filter(|zone| !zone.is_empty());
                }
                self.env.insert(name.into(), value);
            }
        }
    }

    fn entry(&mut self, number: usize, line: &str) -> Result<Option<CrontabEntry>, String> {
        let (cron, rest) = time(line)?;
        if cron == "@reboot" {
            let text = "@reboot is not supported and is skipped: schedules are not tied to a machine";
            self.crontab.ignored.push(LineRemark { line: number, text: text.into() });
            return Ok(None);
        }
        let mut remarks = Vec::new();
        let rest = if self.has_users {
            let (user, rest) = word(rest).ok_or("the user and the command are missing")?;
            remarks.push(format!("runs as the worker's user, not as {user}"));
            rest
        } else {
            if word(rest).is_some_and(|(first, after)| first == "root" && !after.is_empty()) {
                remarks
                    .push("runs a program called root; if root is the user, as in /etc/crontab, add --system".into());
            }
            rest
        };
        let (command, input) = input(rest);
        if command.is_empty() {
            return Err("the command is missing".into());
        }
        let zone = self.cron_tz.clone().or_else(|| self.tz.clone()).or_else(|| self.zone.clone());
        let is_interval = cron.starts_with("@every");
        let job = JobSpec {
            command: Some(match &self.shell {
                Some(shell) => CommandSpec::Argv(vec![shell.clone(), "-c".into(), command.clone()]),
                None => CommandSpec::Shell(command.clone()),
            }),
            body: input,
            env: (!self.env.is_empty()).then(|| self.env.clone()),
            cwd: self.home.clone(),
            max_attempts: Some(1),
            timeout: LONGEST.parse::<Span>().ok(),
            ..JobSpec::default()
        };
        let spec = ScheduleSpec {
            name: self.name(&command),
            cron: Some(cron),
            timezone: zone.filter(|_| !is_interval),
            job,
            ..ScheduleSpec::default()
        };
        Ok(Some(CrontabEntry { line: number, spec, remarks }))
    }

    /// The same for the same command, wherever its line stands, so that an import that is done again replaces what it made.
    /// Several lines with one command are told apart by their order.
    fn name(&mut self, command: &str) -> String {
        let base = format!("{}-{:08x}", slug(command), hash(command));
        let count = self.names.entry(base.clone()).or_default();
        *count += 1;
        if *count == 1 { base } else { format!("{base}-{count}") }
    }
}

/// `NAME=value`, `NAME = "value"`.
fn assignment(line: &str) -> Option<(&str, String)> {
    let (name, value) = line.split_once('=')?;
    let name = unquoted(name.trim());
    let is_name = !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    is_name.then(|| (name, unquoted(value.trim()).to_owned()))
}

fn unquoted(text: &str) -> &str {
    ['"', '\''].into_iter().find_map(|quote| text.strip_prefix(quote)?.strip_suffix(quote)).unwrap_or(text)
}

/// The time of a line, with its fields one space apart, and what follows it.
fn time(line: &str) -> Result<(String, &str), String> {
    let Some((first, after)) = word(line) else { return Err("the line is empty".into()) };
    if !first.starts_with('@') {
        let mut fields = vec![first];
        let mut rest = after;
        while fields.len() < 5 {
            let (field, after) = word(rest)
                .ok_or_else(|| format!("only {} fields: five time fields and a command are needed", fields.len()))?;
            fields.push(field);
            rest = after;
        }
        return Ok((fields.join(" "), rest));
    }
    if first == "@every" {
        let (period, rest) = word(after).ok_or("@every needs an interval")?;
        return Ok((format!("@every {period}"), rest));
    }
    let known = first == "@reboot" || NICKNAMES.contains(&first);
    if known { Ok((first.to_owned(), after)) } else { Err(format!("unknown time {first}")) }
}

/// The first word, and the rest without the space between.
fn word(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start();
    if text.is_empty() {
        return None;
    }
    let end = text.find(char::is_whitespace).unwrap_or(text.len());
    Some((&text[..end], text[end..].trim_start()))
}

/// The command, and what it reads: the first `%` begins its input, each further one is the end of a line, `\%` is a `%`.
fn input(text: &str) -> (String, Option<String>) {
    let mut parts = vec![String::new()];
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let part = parts.last_mut().expect("there is always a part");
        match c {
            '\\' if chars.peek() == Some(&'%') => {
                chars.next();
                part.push('%');
            }
            '%' => parts.push(String::new()),
            c => part.push(c),
        }
    }
    let command = parts.remove(0).trim_end().to_owned();
    let input = (!parts.is_empty()).then(|| {
        let mut text = parts.join("\n");
        if !text.ends_with('\n') {
            text.push('\n');
        }
        text
    });
    (command, input)
}

/// The words of a command without their directories, as far as they fit into a name.
fn slug(command: &str) -> String {
    let words = command.split_whitespace().map(|word| word.rsplit('/').find(|part| !part.is_empty()).unwrap_or(""));
    let mut slug = String::new();
    for c in words.collect::<Vec<_>>().join("-").chars() {
        let c = if c.is_ascii_alphanumeric() || matches!(c, '.' | '_') { c } else { '-' };
        if c != '-' || !slug.ends_with('-') {
            slug.push(c);
        }
    }
    let short: String = slug.trim_start_matches(['-', '.']).chars().take(NAME_CHARS).collect();
    let short = short.trim_end_matches(['-', '.']);
    if short.is_empty() { "cron".into() } else { short.to_owned() }
}

/// FNV-1a, which is the same for ever.
fn hash(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(text: &str) -> Vec<CrontabEntry> {
        let read = read(text, false, None);
        assert!(read.mistakes.is_empty(), "{:?}", read.mistakes);
        read.entries
    }

    fn shell(entry: &CrontabEntry) -> &str {
        match entry.spec.job.command.as_ref().expect("a command") {
            CommandSpec::Shell(line) => line,
            CommandSpec::Argv(argv) => panic!("{argv:?}"),
        }
    }

    #[test]
    fn a_line_is_a_time_and_a_command() {
        let found = entries(
            "# nightly\n\n  \n0 3 * * *\t/opt/backup.sh --full  \n*/5\t*  * * 1-5 curl -s 'http://a/b c'\n@daily run it\n\
             @every 90s poll\n",
        );
        let said: Vec<_> =
            found.iter().map(|entry| (entry.line, entry.spec.cron.as_deref().expect("a time"), shell(entry))).collect();
        assert_eq!(
            said,
            [
                (4, "0 3 * * *", "/opt/backup.sh --full"),
                (5, "*/5 * * * 1-5", "curl -s 'http://a/b c'"),
                (6, "@daily", "run it"),
                (7, "@every 90s", "poll"),
            ]
        );
        assert_eq!(found[0].spec.job.max_attempts, Some(1), "cron does not try again");
    }

    #[test]
    fn a_percent_sign_begins_the_input_unless_it_is_escaped() {
        for (text, command, expected) in [
            ("mail -s hi me%Dear me,%%bye", "mail -s hi me", Some("Dear me,\n\nbye\n")),
            (r"date +\%F", "date +%F", None),
            (r"a \% b%c\%d", "a % b", Some("c%d\n")),
            ("cat%", "cat", Some("\n")),
            (r"echo \n", r"echo \n", None),
        ] {
            assert_eq!(input(text), (command.to_owned(), expected.map(str::to_owned)), "{text}");
        }
    }

    #[test]
    fn variables_hold_for_the_lines_below_them() {
        let found = entries(
            "0 1 * * * one\nCRON_TZ=Europe/Berlin\nPATH = \"/opt/bin:/bin\"\nSHELL=/bin/bash\nHOME=/srv\n0 2 * * * two\n\
             CRON_TZ=\nTZ=Asia/Tokyo\n@every 5m three\n0 4 * * * four\n",
        );
        assert_eq!((&found[0].spec.timezone, &found[0].spec.job.env), (&None, &None));
        let two = &found[1].spec;
        assert_eq!(two.timezone.as_deref(), Some("Europe/Berlin"));
        assert_eq!(two.job.env.as_ref().expect("variables")["PATH"], "/opt/bin:/bin");
        assert_eq!(two.job.cwd.as_deref(), Some("/srv"));
        assert_eq!(two.job.command, Some(CommandSpec::Argv(vec!["/bin/bash".into(), "-c".into(), "two".into()])));
        assert_eq!(found[2].spec.timezone, None, "an interval has no zone");
        assert_eq!(found[3].spec.timezone.as_deref(), Some("Asia/Tokyo"));
        assert_eq!(found[3].spec.job.env.as_ref().expect("variables")["TZ"], "Asia/Tokyo");
    }

    #[test]
    fn what_cannot_be_taken_over_is_said_with_its_line() {
        let read = read("MAILTO=root\n@reboot start it\n0 1 * *\n@sometimes x\n0 1 * * *\n", false, None);
        assert!(read.entries.is_empty());
        let ignored: Vec<usize> = read.ignored.iter().map(|said| said.line).collect();
        assert_eq!(ignored, [1, 2]);
        let mistakes: Vec<(usize, &str)> = read.mistakes.iter().map(|said| (said.line, said.text.as_str())).collect();
        assert_eq!(
            mistakes,
            [
                (3, "only 4 fields: five time fields and a command are needed"),
                (4, "unknown time @sometimes"),
                (5, "the command is missing"),
            ]
        );
    }

    #[test]
    fn the_crontab_of_a_system_names_a_user() {
        let read = read("17 * * * * root cd / && run-parts /etc/cron.hourly\n", true, Some("Europe/Berlin"));
        assert_eq!(shell(&read.entries[0]), "cd / && run-parts /etc/cron.hourly");
        assert_eq!(read.entries[0].remarks, ["runs as the worker's user, not as root"]);
        assert_eq!(read.entries[0].spec.timezone.as_deref(), Some("Europe/Berlin"));
        let taken_for_a_command = &entries("17 * * * * root run-parts /etc/cron.hourly\n")[0];
        assert!(taken_for_a_command.remarks[0].contains("--system"), "{:?}", taken_for_a_command.remarks);
        assert!(entries("17 * * * * root\n17 * * * * rooted tree\n").iter().all(|entry| entry.remarks.is_empty()));
    }

    #[test]
    fn a_file_may_come_from_any_editor() {
        let found = entries("\u{feff}A=b\r\n0 3 * * *\tone two\r\n\r\n  0 4 * * * three");
        let said: Vec<_> = found.iter().map(|entry| (entry.line, shell(entry))).collect();
        assert_eq!(said, [(2, "one two"), (4, "three")]);
        assert_eq!(found[0].spec.job.env.as_ref().expect("variables")["A"], "b");
    }

    #[test]
    fn a_name_comes_from_the_command_and_not_from_where_it_stands() {
        let name = |text: &str, place: usize| entries(text)[place].spec.name.clone();
        let first = name("0 3 * * * /opt/backup.sh --full\n", 0);
        assert!(first.starts_with("backup.sh-full-"), "{first}");
        assert_eq!(name("0 1 * * * other\n\n30 4 * * * /opt/backup.sh --full\n", 1), first);
        assert_ne!(name("0 3 * * * /srv/backup.sh --full\n", 0), first, "another program");
        assert_eq!(name("0 3 * * * x\n0 4 * * * x\n", 1), format!("{}-2", name("0 3 * * * x\n", 0)));
        for odd in ["/", "ää", "--", &"x".repeat(500), "a b c d e f g h i j k l m n o p q r s t u v w x y z"] {
            let name = name(&format!("0 3 * * * {odd}\n"), 0);
            assert!(name.parse::<foreman_core::schedule::ScheduleName>().is_ok(), "{odd}: {name}");
        }
    }
}
