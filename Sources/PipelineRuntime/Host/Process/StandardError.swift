import Glibc

/// Messages for people go to standard error, one line each.
package enum StandardError {
    package static var isTerminal: Bool { isatty(StandardDescriptors.current.error) == 1 }

    package static func write(_ line: String) { write(unended: line + "\n") }

    /// Writes a part of a line, as progress on a terminal does.
    package static func write(unended text: String) {
        let bytes = Array(text.utf8)
        _ = Glibc.write(StandardDescriptors.current.error, bytes, bytes.count)
    }
}
