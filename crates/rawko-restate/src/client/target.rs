//! `HandlerTarget`: the callee of a request, as a path of the ingress.

/// A handler of a service, or of one object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HandlerTarget {
    path: String,
}

impl HandlerTarget {
    /// Creates the target of a handler of a stateless service.
    pub fn service(service: &str, handler: &str) -> HandlerTarget {
        HandlerTarget { path: format!("{}/{}", escaped(service), escaped(handler)) }
    }

    /// Creates the target of a handler of the virtual object with this key, which may contain any character.
    pub fn object(service: &str, key: &str, handler: &str) -> HandlerTarget {
        HandlerTarget { path: format!("{}/{}/{}", escaped(service), escaped(key), escaped(handler)) }
    }

    /// Returns the path relative to the address of the ingress.
    pub(super) fn path(&self) -> &str {
        &self.path
    }
}

/// Escapes a text as one path segment: ids may contain any character.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'~' => out.push(char::from(byte)),
            // A segment of only dots would be a relative path.
            b'.' if text.bytes().any(|byte| byte != b'.') => out.push('.'),
            other => out.push_str(&format!("%{other:02X}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_stay_one_segment() {
        for (key, expected) in [
            ("order-17", "RawkoInstance/order-17/look"),
            ("order.pay#1", "RawkoInstance/order.pay%231/look"),
            ("a/b c?d", "RawkoInstance/a%2Fb%20c%3Fd/look"),
            ("..", "RawkoInstance/%2E%2E/look"),
            ("ä", "RawkoInstance/%C3%A4/look"),
        ] {
            assert_eq!(HandlerTarget::object("RawkoInstance", key, "look").path(), expected);
        }
    }
}
