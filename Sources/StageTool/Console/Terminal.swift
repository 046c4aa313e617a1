import Glibc

/// The terminal that a program was started from. When the terminal is closed, it sends SIGHUP. Such a SIGHUP does not
/// ask for a reload.
package struct Terminal: Sendable {
    private let descriptors: [Int32]

    package init() { descriptors = [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO].filter { isatty($0) == 1 } }

    /// Whether the program had a terminal that was closed.
    package var isClosed: Bool { descriptors.contains { isatty($0) == 0 } }
}
