import Glibc

/// The terminal that a program was started from. Its end sends SIGHUP too, and is no wish to read a file again.
package struct Terminal: Sendable {
    private let descriptors: [Int32]

    package init() { descriptors = [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO].filter { isatty($0) == 1 } }

    /// Whether there was one, and it was closed.
    package var isGone: Bool { descriptors.contains { isatty($0) == 0 } }
}
