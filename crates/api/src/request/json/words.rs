//! What serde says of a value, in the words of whoever wrote the value.

/// serde repeats text that is not what it expected. Text may be a secret, `headers` given as one string, say: what was given is left
/// out, but for a word that was to be one of a few.
pub(crate) fn in_words(message: &str) -> String {
    if let Some(rest) = message.strip_prefix("unknown variant `")
        && let Some((given, expected)) = rest.split_once("`, expected ")
    {
        let given: String = given.chars().take(64).collect();
        let known: Vec<&str> = expected.split('`').skip(1).step_by(2).collect();
        return format!("`{given}` is not one of `{}`", known.join("`, `"));
    }
    for (said, is_it) in [("missing field `", "is missing"), ("duplicate field `", "is given twice")] {
        if let Some(name) = message.strip_prefix(said).and_then(|rest| rest.strip_suffix('`')) {
            return format!("`{name}` {is_it}");
        }
    }
    if let Some(rest) = message.strip_prefix("invalid type: ").or_else(|| message.strip_prefix("invalid length "))
        && let Some((_, expected)) = rest.rsplit_once(", expected ")
    {
        return format!("must be {}", wanted(expected));
    }
    if let Some((given, expected)) =
        message.strip_prefix("invalid value: ").and_then(|rest| rest.rsplit_once(", expected "))
    {
        // A whole number, but one that there is no room for.
        let range = range(expected).filter(|_| given.starts_with("integer"));
        return format!("must be {}", range.unwrap_or_else(|| wanted(expected).to_owned()));
    }
    // In a query everything is text.
    match message {
        "invalid digit found in string"
        | "cannot parse integer from empty string"
        | "number too large to fit in target type"
        | "number too small to fit in target type" => "must be a whole number".into(),
        "invalid float literal" | "cannot parse float from empty string" => "must be a number".into(),
        "provided string was not `true` or `false`" => "must be `true` or `false`".into(),
        other => other.to_owned(),
    }
}

fn wanted(expected: &str) -> &str {
    match expected {
        "u8" | "u16" | "u32" | "u64" | "usize" | "i8" | "i16" | "i32" | "i64" | "isize" => "a whole number",
        "f32" | "f64" => "a number",
        "a boolean" => "`true` or `false`",
        "a sequence" => "an array",
        "a map" => "an object",
        _ if expected.starts_with("struct ") => "an object",
        other => other,
    }
}

fn range(expected: &str) -> Option<String> {
    let (least, most) = match expected {
        "u8" => (0, u8::MAX.into()),
        "u16" => (0, u16::MAX.into()),
        "u32" => (0, u32::MAX.into()),
        "i8" => (i8::MIN.into(), i8::MAX.into()),
        "i16" => (i16::MIN.into(), i16::MAX.into()),
        "i32" => (i32::MIN.into(), i32::MAX.into()),
        "u64" | "usize" => return Some("a whole number, not below 0".into()),
        _ => return None,
    };
    let (least, most): (i64, i64) = (least, most);
    Some(format!("a whole number between {least} and {most}"))
}
