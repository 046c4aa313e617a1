import EventLog
import Glibc

/// One end of the socket between `belfry up` and a process that it started: a stage or the gateway. Its calls block the
/// thread.
package struct SupervisorSocket: Sendable {
    private let descriptor: Int32

    /// - Parameter descriptor: A stream socket, which the caller closes.
    package init(descriptor: Int32) { self.descriptor = descriptor }

    /// This process's end of the socket, if `belfry up` started the process.
    package static let ofThisProcess = SupervisorSocket(descriptor: STDIN_FILENO)

    // MARK: `belfry up`

    /// Sends a message to the process. Does nothing if the process has ended.
    package func send(_ message: SupervisorMessage) {
        let bytes = message.bytes
        let length = UInt32(bytes.count).littleEndian
        send(withUnsafeBytes(of: length, Array.init) + bytes)
    }

    /// - Returns: Whether the process accepts the pipeline file of the last message; nil if the process ended
    ///   without an answer.
    package func receiveAnswer() -> Bool? { receive(1).map { $0[0] == UInt8(ascii: "y") } }

    // MARK: The process that was started

    /// - Returns: The next message; nil if `belfry up` has ended, or if the message is too long, unknown or malformed.
    package func receiveMessage() -> SupervisorMessage? {
        guard let head = receive(MemoryLayout<UInt32>.size) else { return nil }
        let count = head.reversed().reduce(0) { $0 << 8 | Int($1) }
        guard count <= SupervisorMessage.bytesMax, let bytes = receive(count) else { return nil }
        return SupervisorMessage(bytes)
    }

    package func sendAnswer(acceptsFile: Bool) { send([UInt8(ascii: acceptsFile ? "y" : "n")]) }

    // MARK: Bytes

    private func send(_ bytes: [UInt8]) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { rest in
                uninterrupted { Glibc.send(descriptor, rest.baseAddress, rest.count, Int32(MSG_NOSIGNAL)) }
            }
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }

    private func receive(_ count: Int) -> [UInt8]? {
        var bytes: [UInt8] = []
        while bytes.count < count {
            var piece = [UInt8](repeating: 0, count: count - bytes.count)
            let length = uninterrupted { read(descriptor, &piece, piece.count) }
            guard length > 0 else { return nil }
            bytes += piece[..<length]
        }
        return bytes
    }
}
