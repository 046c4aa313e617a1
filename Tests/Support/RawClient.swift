import Foundation
import Glibc

/// A TCP connection to 127.0.0.1 that sends the strings of a test, and reads only when the test asks for input.
package final class RawClient: Sendable {
    private let descriptor: CInt

    /// - Parameter source: The address of this machine that the connection comes from, such as 127.0.0.2; nil for the
    ///   system's choice.
    package init(port: Int?, from source: String? = nil) throws {
        descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
        var size: CInt = 4096
        setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<CInt>.size))
        // Reading ends after 30 seconds without input, so that a test cannot wait forever.
        var wait = timeval(tv_sec: 30, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &wait, socklen_t(MemoryLayout<timeval>.size))
        if let source { try Self.use(source, port: 0) { bind(descriptor, $0, $1) } }
        try Self.use("127.0.0.1", port: port ?? 0) { connect(descriptor, $0, $1) }
    }

    /// Throws the system's error if `call` does not return 0.
    private static func use(
        _ host: String, port: Int, _ call: (UnsafePointer<sockaddr>, socklen_t) -> CInt
    ) throws {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = inet_addr(host)
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                call($0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .ENOTCONN) }
    }

    deinit { close(descriptor) }

    /// - Returns: Whether the system took the whole text. If the server has closed the connection, the system may still
    ///   take a text.
    @discardableResult
    package func send(_ text: String) -> Bool {
        Glibc.send(descriptor, text, text.utf8.count, CInt(MSG_NOSIGNAL)) == text.utf8.count
    }

    package func closeSending() { shutdown(descriptor, CInt(SHUT_WR)) }

    /// All input until the server closes the connection. If nothing comes for 30 seconds, the text ends with a note.
    package func rest() async -> String { await read { _ in false } }

    /// The statuses of at least `count` answers, or of fewer if the server closes the connection or sends nothing for
    /// 30 seconds.
    package func statuses(_ count: Int) async -> [Int] { Self.statuses(in: await answers(count)) }

    /// The input until `count` answers have begun, and at least the head of the first answer has ended.
    package func answers(_ count: Int) async -> String {
        await read { Self.statuses(in: $0).count >= count && $0.contains("\r\n\r\n") }
    }

    package static func statuses(in text: String) -> [Int] {
        text.matches(of: #/HTTP/1\.1 ([0-9]+) /#).compactMap { Int($0.1) }
    }

    private func read(until isEnough: @escaping @Sendable (String) -> Bool) async -> String {
        await onThread { [self] in
            var (text, buffer) = ("", [UInt8](repeating: 0, count: 65_536))
            while !isEnough(text) {
                let count = recv(descriptor, &buffer, buffer.count, 0)
                if count < 0, errno == EAGAIN { return text + "(nothing more came)" }
                guard count > 0 else { break }
                text += String(decoding: buffer[..<count], as: UTF8.self)
            }
            return text
        }
    }
}

/// Runs blocking work on a thread of its own, because servers in the same process need the threads on which Swift
/// runs tasks.
package func onThread<Value: Sendable>(_ work: @escaping @Sendable () -> Value) async -> Value {
    await withCheckedContinuation { continuation in
        Thread.detachNewThread { continuation.resume(returning: work()) }
    }
}
