import Glibc

/// The descriptors of standard input, output and error: the process's own, unless a command runs inside another program,
/// which then sets them.
package struct StandardDescriptors: Sendable {
    package let input: Int32
    package let output: Int32
    package let error: Int32

    package init(input: Int32 = STDIN_FILENO, output: Int32 = STDOUT_FILENO, error: Int32 = STDERR_FILENO) {
        self.input = input
        self.output = output
        self.error = error
    }

    /// The descriptors of the command that runs in this task.
    @TaskLocal package static var current = StandardDescriptors()
}
