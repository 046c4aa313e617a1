import Glibc
import Synchronization

/// A small HTTP server on its own threads. The test decides how the server answers.
package final class TestServer: Sendable {
    package struct Request: Sendable {
        package let line: String
        /// The names are in lower case.
        package let headers: [String: String]
        package let body: String
    }

    package enum Reply: Sendable {
        case status(Int, headers: [String: String] = [:], body: String = "")
        /// Closes the connection without an answer.
        case drop
        /// Never answers, and leaves the connection open until the client closes it.
        case silence
        /// Sends a status and the beginning of a body, and then nothing until the client closes the connection.
        case unfinished(Int)
    }

    package let port: UInt16
    private let listener: CInt
    private let received = Mutex<[Request]>([])
    private let reply: @Sendable (Request, Int) -> Reply

    /// - Parameter reply: Gets a request and the number of earlier requests. It runs on the connection's thread, so it
    ///   can block.
    package init(_ reply: @escaping @Sendable (Request, Int) -> Reply) {
        self.reply = reply
        listener = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let listener = listener
        port = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                precondition(
                    bind(listener, pointer, length) == 0 && listen(listener, 64) == 0, "cannot listen on 127.0.0.1")
                getsockname(listener, pointer, &length)
            }
            return UInt16(bigEndian: pointer.pointee.sin_port)
        }
        spawn { self.accept() }
    }

    package var url: String { "http://127.0.0.1:\(port)/pushes" }

    package var requests: [Request] { received.withLock { $0 } }

    /// Stops accepting connections.
    package func stop() { _ = shutdown(listener, CInt(SHUT_RDWR)) }

    private func accept() {
        while true {
            let connection = Glibc.accept(listener, nil, nil)
            guard connection >= 0 else { break }
            spawn {
                while let request = read(connection), self.answer(request, on: connection) {}
                close(connection)
            }
        }
        close(listener)
    }

    /// - Returns: Whether the connection stays open.
    private func answer(_ request: Request, on connection: CInt) -> Bool {
        let earlier = received.withLock { received in
            received.append(request)
            return received.count - 1
        }
        switch reply(request, earlier) {
        case .status(let status, let headers, let body):
            let lines = headers.map { "\($0.key): \($0.value)\r\n" }.joined()
            write("HTTP/1.1 \(status) X\r\n\(lines)content-length: \(body.utf8.count)\r\n\r\n\(body)", to: connection)
            return true
        case .drop:
            return false
        case .silence:
            _ = read(connection)
            return false
        case .unfinished(let status):
            write("HTTP/1.1 \(status) X\r\ncontent-length: 1000\r\n\r\nx", to: connection)
            _ = read(connection)
            return false
        }
    }
}

private func read(_ connection: CInt) -> TestServer.Request? {
    var text = ""
    while !text.contains("\r\n\r\n") {
        guard let more = receive(connection) else { return nil }
        text += more
    }
    var lines = text.text(before: "\r\n\r\n").split(separator: "\r\n").map(String.init)
    let first = lines.removeFirst()
    let headers = lines.map { line in
        let name = line.prefix { $0 != ":" }
        return (name.lowercased(), String(line.dropFirst(name.count + 2)))
    }
    let fields = Dictionary(uniqueKeysWithValues: headers)
    var body = text.text(after: "\r\n\r\n")
    while body.utf8.count < Int(fields["content-length"] ?? "0") ?? 0 {
        guard let more = receive(connection) else { return nil }
        body += more
    }
    return TestServer.Request(line: first, headers: fields, body: body)
}

private func receive(_ connection: CInt) -> String? {
    var block = [UInt8](repeating: 0, count: 64 << 10)
    let count = recv(connection, &block, block.count, 0)
    return count > 0 ? String(decoding: block[..<count], as: UTF8.self) : nil
}

private func write(_ text: String, to connection: CInt) {
    _ = Array(text.utf8).withUnsafeBytes { send(connection, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL)) }
}

private final class ThreadBody: Sendable {
    let run: @Sendable () -> Void
    init(_ run: @escaping @Sendable () -> Void) { self.run = run }
}

private func spawn(_ run: @escaping @Sendable () -> Void) {
    var thread = pthread_t()
    pthread_create(
        &thread, nil,
        { argument in
            if let argument { Unmanaged<ThreadBody>.fromOpaque(argument).takeRetainedValue().run() }
            return nil
        }, Unmanaged.passRetained(ThreadBody(run)).toOpaque())
    pthread_detach(thread)
}

extension String {
    fileprivate func text(before separator: String) -> Substring {
        firstRange(of: separator).map { self[..<$0.lowerBound] } ?? self[...]
    }

    fileprivate func text(after separator: String) -> String {
        firstRange(of: separator).map { String(self[$0.upperBound...]) } ?? ""
    }
}
