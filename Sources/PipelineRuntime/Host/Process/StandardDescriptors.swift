import Glibc

/// The descriptors of standard input, output and error. By default they are the process's own. A program that runs a
/// command inside itself sets others.
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
