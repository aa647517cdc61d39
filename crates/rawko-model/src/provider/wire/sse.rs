//! Parses server-sent events from lines, limited to the parts model services use: `data`, and the empty line that ends
//! an event. Event names are ignored: every service that names events repeats the name in the data.

/// The result of one line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum SseLine {
    /// The event is incomplete, or the line was a comment.
    Nothing,
    /// An event is complete.
    Data(String),
    /// Not a line of an event stream: the body is something else.
    Stray,
}

#[derive(Default)]
pub(super) struct Sse {
    data: Option<String>,
}

const OTHER_FIELDS: [&str; 3] = ["event", "id", "retry"];

impl Sse {
    pub(super) fn handle_line(&mut self, line: &str) -> SseLine {
        let line = line.strip_prefix('\u{feff}').unwrap_or(line);
        if line.is_empty() {
            return self.take_event().map_or(SseLine::Nothing, SseLine::Data);
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        match field {
            "" => SseLine::Nothing,
            "data" => {
                self.add(value.strip_prefix(' ').unwrap_or(value));
                SseLine::Nothing
            }
            _ if OTHER_FIELDS.contains(&field) => SseLine::Nothing,
            _ => SseLine::Stray,
        }
    }

    /// Returns a final event without its empty line: some servers close without one.
    pub(super) fn take_event(&mut self) -> Option<String> {
        self.data.take()
    }

    fn add(&mut self, value: &str) {
        match &mut self.data {
            Some(data) => {
                data.push('\n');
                data.push_str(value);
            }
            None => self.data = Some(value.to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Sse, SseLine};

    fn events(lines: &[&str]) -> Vec<String> {
        let mut sse = Sse::default();
        let framed = lines.iter().map(|line| sse.handle_line(line));
        framed.filter_map(|it| if let SseLine::Data(data) = it { Some(data) } else { None }).collect()
    }

    #[test]
    fn events_are_read_as_the_standard_says() {
        let table: [(&str, &[&str], &[&str]); 7] = [
            ("one", &["data: {}", ""], &["{}"]),
            ("no space after the colon", &["data:{}", ""], &["{}"]),
            ("only one space is taken away", &["data:  x", ""], &[" x"]),
            ("several lines", &["data: a", "data: b", ""], &["a\nb"]),
            (
                "names, ids and comments are passed over",
                &[": hi", "event: ping", "id: 1", "data: x", ""],
                &["x"],
            ),
            ("an event without data is none", &["event: ping", "", ""], &[]),
            ("a byte order mark", &["\u{feff}data: x", ""], &["x"]),
        ];
        for (name, lines, expected) in table {
            assert_eq!(events(lines), expected, "{name}");
        }
    }

    #[test]
    fn other_bodies_are_noticed() {
        for line in ["<html>", "{\"error\": 1}", "nonsense"] {
            assert_eq!(Sse::default().handle_line(line), SseLine::Stray, "{line}");
        }
    }
}
