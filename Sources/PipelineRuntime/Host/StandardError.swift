import Glibc

/// Messages for people go to standard error, one line each.
package enum StandardError {
    package static func write(_ line: String) {
        let bytes = Array((line + "\n").utf8)
        _ = Glibc.write(STDERR_FILENO, bytes, bytes.count)
    }
}
