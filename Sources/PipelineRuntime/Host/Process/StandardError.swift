import Glibc

/// Writes messages for people to standard error, one line each.
package enum StandardError {
    package static var isTerminal: Bool { isatty(StandardDescriptors.current.error) == 1 }

    package static func write(_ line: String) { write(unended: line + "\n") }

    /// Writes text without a line feed, such as progress on a terminal.
    package static func write(unended text: String) {
        let bytes = Array(text.utf8)
        _ = Glibc.write(StandardDescriptors.current.error, bytes, bytes.count)
    }
}
