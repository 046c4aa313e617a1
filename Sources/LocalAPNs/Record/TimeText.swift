import Time

/// Times in the form of RFC 3339, in UTC, with milliseconds.
package enum TimeText {
    package static func of(_ milliseconds: Int64) -> String {
        let text = Instant(microseconds: milliseconds * 1_000).rfc3339
        return milliseconds % 1_000 == 0 ? "\(text.dropLast()).000Z" : text
    }
}
