import NIOCore

/// A handler between TLS and NIO's HTTP/2. It writes frames that APNs sends, but that NIO's state machine would not
/// allow.
///
/// If a client opens more streams than SETTINGS allow, NIO closes the connection, but APNs refuses only the stream. So
/// NIO gets no limit, and this handler announces the real limit to the client. NIO does not see the client's
/// acknowledgements of the SETTINGS that this handler sends.
final class FrameGate: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// The stream limit in NIO's own SETTINGS, which NIO enforces: practically no limit.
    static let unlimited: UInt32 = 0x7FFF_FFFF
    private let initialLimit: Int
    private let ignoresPings: () -> Bool
    private var context: ChannelHandlerContext?
    private var arrived = ByteBuffer()
    private var hasPreface = false
    private var hasWritten = false
    /// The stream limits in the SETTINGS frames that the client has not acknowledged, in order. Nil stands for NIO's
    /// own frame: its acknowledgement is passed on to NIO, and its limit is in ``acknowledged`` from the start.
    private var unacknowledged: [Int?] = [nil]
    /// The stream limit that the client acknowledged last.
    private(set) var acknowledged: Int

    /// - Parameters:
    ///   - initialLimit: The stream limit in the first SETTINGS.
    ///   - ignoresPings: Whether PING frames of the client are not answered.
    init(initialLimit: Int, ignoresPings: @escaping () -> Bool) {
        self.initialLimit = initialLimit
        acknowledged = initialLimit
        self.ignoresPings = ignoresPings
    }

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }
    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    /// The stream limit for the client: the highest of the limit that the client acknowledged last and the limits that
    /// the client has not acknowledged, but may already have read.
    var allowed: Int { unacknowledged.compactMap(\.self).reduce(acknowledged, max) }

    func announce(streams: Int) {
        unacknowledged.append(streams)
        write(type: 4, payload: [UInt8](bigEndian: 3 as UInt16) + [UInt8](bigEndian: UInt32(streams)))
    }

    func goAway(lastStream: Int, code: UInt32, debug: String) {
        let head = [UInt8](bigEndian: UInt32(lastStream)) + [UInt8](bigEndian: code)
        write(type: 7, payload: head + Array(debug.utf8))
    }

    private func write(type: UInt8, payload: [UInt8]) {
        guard let context else { return }
        var frame = context.channel.allocator.buffer(capacity: 9 + payload.count)
        frame.writeBytes([UInt8](bigEndian: UInt32(payload.count)).dropFirst())
        frame.writeBytes([type, 0, 0, 0, 0, 0])
        frame.writeBytes(payload)
        context.writeAndFlush(wrapOutboundOut(frame), promise: nil)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard !hasWritten else { return context.write(data, promise: promise) }
        hasWritten = true
        var buffer = unwrapOutboundIn(data)
        limitStreams(&buffer)
        context.write(wrapOutboundOut(buffer), promise: promise)
    }

    /// Writes the real stream limit into NIO's SETTINGS, which are the first frame. After nine bytes of header, the
    /// frame has entries of two bytes for an ID and four for a value.
    private func limitStreams(_ buffer: inout ByteBuffer) {
        let start = buffer.readerIndex
        let length = Int(buffer.getInteger(at: start, as: UInt32.self) ?? 0) >> 8
        for entry in stride(from: start + 9, to: start + 9 + length, by: 6)
        where buffer.getInteger(at: entry, as: UInt16.self) == 3 {
            buffer.setInteger(UInt32(initialLimit), at: entry + 2)
        }
    }
}

extension FrameGate {
    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var buffer = unwrapInboundIn(data)
        arrived.writeBuffer(&buffer)
        var passed = context.channel.allocator.buffer(capacity: arrived.readableBytes)
        if !hasPreface, let preface = arrived.readSlice(length: 24) {
            hasPreface = true
            passed.writeImmutableBuffer(preface)
        }
        while hasPreface, let frame = nextFrame() {
            if passes(frame) { passed.writeImmutableBuffer(frame) }
        }
        arrived.discardReadBytes()
        if passed.readableBytes > 0 { context.fireChannelRead(wrapInboundOut(passed)) }
    }

    private func nextFrame() -> ByteBuffer? {
        guard let head = arrived.getInteger(at: arrived.readerIndex, as: UInt32.self) else { return nil }
        // NIO itself rejects a frame that is too long. So its bytes are passed on as they arrive.
        guard head >> 8 <= 16_384 else { return arrived.readSlice(length: arrived.readableBytes) }
        return arrived.readSlice(length: 9 + Int(head >> 8))
    }

    private func passes(_ frame: ByteBuffer) -> Bool {
        let type = frame.getInteger(at: frame.readerIndex + 3, as: UInt8.self)
        let isAcknowledgement = (frame.getInteger(at: frame.readerIndex + 4, as: UInt8.self) ?? 0) & 1 == 1
        if type == 6, !isAcknowledgement { return !ignoresPings() }
        guard type == 4, isAcknowledgement, !unacknowledged.isEmpty else { return true }
        guard let streams = unacknowledged.removeFirst() else { return true }
        acknowledged = streams
        return false
    }
}

extension [UInt8] {
    fileprivate init(bigEndian number: some FixedWidthInteger) {
        self = Swift.withUnsafeBytes(of: number.bigEndian) { Array($0) }
    }
}
