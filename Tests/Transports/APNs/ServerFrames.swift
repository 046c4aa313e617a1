import NIOCore

@testable import TransportAPNs

/// Makes the frames of a server.
struct ServerFrames {
    static func frame(_ kind: FrameKind, flags: UInt8 = 0, stream: UInt32 = 0, _ body: [UInt8] = []) -> [UInt8] {
        let header = [UInt8](unsafeUninitializedCapacity: FrameHeader.byteCount) { buffer, count in
            FrameHeader(length: body.count, kind: kind, flags: flags, stream: stream).write(to: buffer.baseAddress!)
            count = FrameHeader.byteCount
        }
        return header + body
    }

    static func settings(_ values: [(id: UInt16, value: UInt32)]) -> [UInt8] {
        frame(.settings, values.flatMap { big16($0.id) + big32($0.value) })
    }

    /// An answer with `:status` and further fields. No field enters the dynamic table.
    static func answer(_ stream: UInt32, status: Int, _ fields: [(String, String)] = [], body: String = "") -> [UInt8] {
        var block: [UInt8] = [0x08, 0x03] + Array("\(status)".utf8)
        for (name, value) in fields {
            block += [0x00, UInt8(name.utf8.count)] + Array(name.utf8) + [UInt8(value.utf8.count)] + Array(value.utf8)
        }
        let hasBody = !body.isEmpty
        let flags = FrameFlag.endHeaders | (hasBody ? 0 : FrameFlag.endStream)
        let head = frame(.headers, flags: flags, stream: stream, block)
        return hasBody ? head + frame(.data, flags: FrameFlag.endStream, stream: stream, Array(body.utf8)) : head
    }

    static func reset(_ stream: UInt32, _ code: HTTP2ErrorCode) -> [UInt8] {
        frame(.resetStream, stream: stream, big32(code.rawValue))
    }

    static func goAway(last: UInt32, _ code: HTTP2ErrorCode = .noError, _ data: String = "") -> [UInt8] {
        frame(.goAway, big32(last) + big32(code.rawValue) + Array(data.utf8))
    }

    static func windowUpdate(_ stream: UInt32, _ bytes: UInt32) -> [UInt8] {
        frame(.windowUpdate, stream: stream, big32(bytes))
    }

    private static func big16(_ value: UInt16) -> [UInt8] { [UInt8(value >> 8), UInt8(value & 0xFF)] }
    private static func big32(_ value: UInt32) -> [UInt8] { big16(UInt16(value >> 16)) + big16(UInt16(value & 0xFFFF)) }
}

/// A frame that a session wrote.
struct SentFrame: Equatable {
    let kind: FrameKind
    let flags: UInt8
    let stream: UInt32
    let body: [UInt8]

    /// All frames of an output; nil if the bytes are not whole frames of known kinds.
    static func read(_ output: ByteBuffer, skipping prefix: Int = 0) -> [SentFrame]? {
        var rest = Array(output.readableBytesView)[prefix...]
        var frames: [SentFrame] = []
        while !rest.isEmpty {
            guard rest.count >= FrameHeader.byteCount else { return nil }
            let header = Array(rest).withUnsafeBytes { FrameHeader($0) }
            rest = rest.dropFirst(FrameHeader.byteCount)
            guard rest.count >= header.length, let kind = FrameKind(rawValue: header.kind) else { return nil }
            frames.append(
                .init(kind: kind, flags: header.flags, stream: header.stream, body: Array(rest.prefix(header.length))))
            rest = rest.dropFirst(header.length)
        }
        return frames
    }
}

extension HTTP2Session {
    /// A session that has received the server's settings.
    static func ready(
        _ settings: [(id: UInt16, value: UInt32)] = [(SettingID.concurrentStreamsMax, 100)]
    ) -> HTTP2Session {
        var session = HTTP2Session()
        _ = session.takeOutput()
        session.receive(ServerFrames.settings(settings))
        _ = session.takeOutput()
        _ = session.takeEvents()
        return session
    }

    mutating func receive(_ bytes: [UInt8]) { bytes.withUnsafeBytes { receive($0) } }

    /// Removes and returns the frames that were written since the last call.
    mutating func takeFrames() -> [SentFrame] { SentFrame.read(takeOutput()) ?? [] }

    /// Removes the events since the last call, and returns short texts of them.
    mutating func takeEventTexts() -> [String] {
        takeEvents().map { event in
            switch event {
            case .answer(let tag, let head, let body): "\(tag): \(head.status) \(String(decoding: body, as: UTF8.self))"
            case .refused(let tag): "\(tag): refused"
            case .broken(let tag, let code): "\(tag): broken \(code.rawValue)"
            case .settings: "settings"
            case .pong: "pong"
            case .goAway(let last, let code, let data):
                "goaway \(last) \(code.rawValue) \(String(decoding: data, as: UTF8.self))"
            case .failed(let code, _): "failed \(code.rawValue)"
            }
        }
    }
}

extension HTTP2Request {
    static let fields = [
        SharedField(id: 0, name: ":authority", value: "api.push.apple.com"),
        SharedField(id: 1, name: "apns-topic", value: "com.example.Notes"),
    ]

    static func of(_ body: String, _ shared: [SharedField] = fields) -> HTTP2Request {
        var own: [UInt8] = []
        HPACK.append(path: "/3/device/00ff".utf8, to: &own)
        let end = own.count
        HPACK.append("apns-id", "id".utf8, to: &own)
        return HTTP2Request(
            shared: shared, own: own, pathEnd: end, body: Array(body.utf8), bodyRange: 0..<body.utf8.count)
    }
}
