import Glibc

/// Where a program reads its standard input and writes its output and its messages.
///
/// Those of the process, unless a command is run inside another program: that one says where its words go.
package struct StandardDescriptors: Sendable {
    package let input: Int32
    package let output: Int32
    package let error: Int32

    package init(input: Int32 = STDIN_FILENO, output: Int32 = STDOUT_FILENO, error: Int32 = STDERR_FILENO) {
        self.input = input
        self.output = output
        self.error = error
    }

    /// Those of the command that runs in this task.
    @TaskLocal package static var current = StandardDescriptors()
}
