import EventLog
import Glibc
import JSON

/// Sends and receives whole messages over a pair of file descriptors.
final class WorkerPipe {
    enum Failure: Error {
        /// The other process closed its end.
        case ended
        /// The other process did not read or write within the socket's timeout.
        case timedOut
        /// A system call failed with this `errno`.
        case failed(Int32)
        /// The other process sent something that is not a message, or a message that the protocol does not allow here.
        case invalidMessage(String)
    }

    private let input: Int32
    private let output: Int32
    private let isSocket: Bool
    private var waiting: [UInt8] = []
    private var position = 0
    private var piece = [UInt8](repeating: 0, count: 256 << 10)
    private var parser = JSONParser(limits: JSONLimits(bytesMax: headerBytesMax))

    private static let headerBytesMax = 64 << 20
    private static let bodyBytesMax: UInt64 = 1 << 30

    /// - Parameter isSocket: Whether both descriptors are one socket. Then a write without a reader raises no SIGPIPE.
    init(input: Int32, output: Int32, isSocket: Bool) {
        (self.input, self.output, self.isSocket) = (input, output, isSocket)
    }

    func send(_ message: borrowing ByteBuffer) throws(Failure) {
        do throws(Failure) { try write(message.bytes) } catch .ended {
            try checkLastOutput()
            throw .ended
        } catch { throw error }
    }

    /// A program that is not a worker may print something and exit at once. Then its output makes the better error
    /// message.
    private func checkLastOutput() throws(Failure) {
        let count = isSocket ? recv(input, &piece, piece.count, Int32(MSG_DONTWAIT)) : 0
        if count > 0, let line = piece[..<count].split(separator: UInt8(ascii: "\n")).first {
            _ = try bodyCount(in: Array(line))
        }
    }

    /// Reads one message.
    ///
    /// - Parameter decode: Decodes the message from its JSON line and the bytes after it.
    func receive<Message>(_ decode: (JSONValue, [UInt8]) throws(InvalidMessage) -> Message) throws(Failure) -> Message {
        let header = try readLine()
        let (count, text) = (try bodyCount(in: header), String(decoding: header.prefix(200), as: UTF8.self))
        let bytes = try readBytes(count)
        let result = header.withUnsafeBytes { header -> Result<Message, InvalidMessage> in
            do throws(JSONError) {
                let json = try parser.parse(header)
                do throws(InvalidMessage) { return .success(try decode(json, bytes)) } catch { return .failure(error) }
            } catch { return .failure(InvalidMessage("\(error)")) }
        }
        do throws(InvalidMessage) { return try result.get() } catch {
            throw .invalidMessage("\(error.reason): \(text.debugDescription)")
        }
    }

    private func bodyCount(in header: [UInt8]) throws(Failure) -> Int {
        let count = header.withUnsafeBytes { header -> UInt64? in
            do throws(JSONError) {
                let json = try parser.parse(header)
                return json.isObject ? json["bytes"] == nil ? 0 : json.natural("bytes") : nil
            } catch { return nil }
        }
        guard let count, count <= WorkerPipe.bodyBytesMax else {
            let text = String(decoding: header.prefix(200), as: UTF8.self)
            throw .invalidMessage("this is not a message of the protocol: \(text.debugDescription)")
        }
        return Int(count)
    }

    // MARK: Bytes

    private func readLine() throws(Failure) -> [UInt8] {
        var searched = position
        while true {
            if let end = waiting[searched...].firstIndex(of: UInt8(ascii: "\n")) {
                defer { position = end + 1 }
                return Array(waiting[position..<end])
            }
            guard waiting.count - position < WorkerPipe.headerBytesMax else {
                throw .invalidMessage("a line of more than \(WorkerPipe.headerBytesMax) bytes")
            }
            searched = waiting.count
            let dropped = position
            try fill()
            searched -= dropped
        }
    }

    private func readBytes(_ count: Int) throws(Failure) -> [UInt8] {
        while waiting.count - position < count { try fill() }
        defer { position += count }
        return Array(waiting[position..<(position + count)])
    }

    private func fill() throws(Failure) {
        waiting.removeFirst(position)
        position = 0
        let count = uninterrupted { read(input, &piece, piece.count) }
        guard count >= 0 else { throw WorkerPipe.failure(errno) }
        guard count > 0 else { throw .ended }
        waiting += piece[..<count]
    }

    private func write(_ bytes: UnsafeRawBufferPointer) throws(Failure) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let piece = UnsafeRawBufferPointer(rebasing: rest)
            let count = uninterrupted {
                isSocket
                    ? Glibc.send(output, piece.baseAddress, piece.count, Int32(MSG_NOSIGNAL))
                    : Glibc.write(output, piece.baseAddress, piece.count)
            }
            guard count >= 0 else { throw WorkerPipe.failure(errno) }
            rest = rest.dropFirst(count)
        }
    }

    private static func failure(_ code: Int32) -> Failure {
        switch code {
        case EAGAIN: .timedOut
        case EPIPE, ECONNRESET: .ended
        default: .failed(code)
        }
    }
}
