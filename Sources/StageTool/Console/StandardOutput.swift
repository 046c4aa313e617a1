import EventLog
import Glibc
import PipelineRuntime

/// A failed write to standard output.
package enum OutputError: Error, Equatable, CustomStringConvertible {
    /// The reader has gone, as `head` does when it has enough lines.
    case closed
    case failed(errno: Int32)

    package var description: String {
        switch self {
        case .closed: "standard output was closed"
        case .failed(let code): "cannot write to standard output: \(String(cString: strerror(code)))"
        }
    }
}

/// Standard output, written without a buffer.
package enum StandardOutput {
    package static var isTerminal: Bool { isatty(StandardDescriptors.current.output) == 1 }

    package static func write(_ bytes: UnsafeRawBufferPointer) throws(OutputError) {
        try Descriptor.write(bytes, to: StandardDescriptors.current.output)
    }

    package static func write(line: String) throws(OutputError) {
        try write(Array((line + "\n").utf8))
    }

    package static func write(_ bytes: [UInt8]) throws(OutputError) {
        var failure: OutputError?
        bytes.withUnsafeBytes { buffer in
            do throws(OutputError) { try write(buffer) } catch { failure = error }
        }
        if let failure { throw failure }
    }
}

private enum Descriptor {
    static func write(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) throws(OutputError) {
        var rest = bytes
        while let base = rest.baseAddress, rest.count > 0 {
            let count = uninterrupted { Glibc.write(descriptor, base, rest.count) }
            if count < 0 {
                guard errno == EAGAIN else { throw errno == EPIPE ? .closed : .failed(errno: errno) }
                wait(for: descriptor)
            } else {
                rest = UnsafeRawBufferPointer(rebasing: rest[count...])
            }
        }
    }

    /// Waits until a non-blocking descriptor can be written. Another program that shares a shell's pipe may have made
    /// the pipe non-blocking.
    private static func wait(for descriptor: Int32) {
        var item = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        poll(&item, 1, -1)
    }
}
