import EventLog
import Glibc
import PipelineRuntime

/// Why nothing more can be written.
package enum OutputError: Error, Equatable, CustomStringConvertible {
    /// Whoever read it has gone, as `head` does when it has enough.
    case closed
    case failed(errno: Int32)

    package var description: String {
        switch self {
        case .closed: "standard output was closed"
        case .failed(let code): "cannot write to standard output: \(String(cString: strerror(code)))"
        }
    }
}

/// Data for the next program, or for the person who watches. Written at once, whole lines at a time.
package enum StandardOutput {
    package static var isTerminal: Bool { isatty(StandardDescriptors.current.output) == 1 }

    package static func write(_ bytes: UnsafeRawBufferPointer) throws(OutputError) {
        try Descriptor.write(bytes, to: StandardDescriptors.current.output)
    }

    package static func write(line: String) throws(OutputError) {
        var text = line + "\n"
        let bytes = text.withUTF8 { Array($0) }
        try write(bytes)
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

    /// Someone made it non-blocking: a shell's pipe may be shared.
    private static func wait(for descriptor: Int32) {
        var item = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        poll(&item, 1, -1)
    }
}
