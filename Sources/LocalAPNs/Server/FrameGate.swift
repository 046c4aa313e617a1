import NIOCore

/// Between TLS and NIO's HTTP/2: writes the frames with which APNs surprises its clients, and which NIO's own state
/// machine would not let it write.
///
/// NIO closes a connection whose client opens a stream too many, where APNs refuses the stream; so NIO is told of no
/// limit, the client of the real one, and the client's acknowledgement stays here.
final class FrameGate: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// What NIO is told, and what stands for it on the wire at first.
    static let unlimited: UInt32 = 0x7FFF_FFFF
    private let firstStreams: Int
    private let isDeaf: () -> Bool
    private var context: ChannelHandlerContext?
    private var arrived = ByteBuffer()
    private var hasPreface = false
    private var hasWritten = false
    /// In the order of the SETTINGS that wait for their acknowledgement; nil: NIO's.
    private var unacknowledged: [Int?] = [nil]
    /// The streams that the client has agreed to.
    private(set) var agreed: Int

    /// - Parameter isDeaf: Whether PING is not heard.
    init(firstStreams: Int, isDeaf: @escaping () -> Bool) {
        self.firstStreams = firstStreams
        agreed = firstStreams
        self.isDeaf = isDeaf
    }

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }
    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    /// The most streams that the client may believe it has.
    var allowed: Int { unacknowledged.compactMap(\.self).reduce(agreed, max) }

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

    /// A server's first frame is SETTINGS: nine bytes, then a number and a value each.
    private func limitStreams(_ buffer: inout ByteBuffer) {
        let start = buffer.readerIndex
        let length = Int(buffer.getInteger(at: start, as: UInt32.self) ?? 0) >> 8
        for entry in stride(from: start + 9, to: start + 9 + length, by: 6)
        where buffer.getInteger(at: entry, as: UInt16.self) == 3 {
            buffer.setInteger(UInt32(firstStreams), at: entry + 2)
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
        // A frame larger than was agreed is NIO's to refuse, in the pieces it comes in.
        guard head >> 8 <= 16_384 else { return arrived.readSlice(length: arrived.readableBytes) }
        return arrived.readSlice(length: 9 + Int(head >> 8))
    }

    private func passes(_ frame: ByteBuffer) -> Bool {
        let type = frame.getInteger(at: frame.readerIndex + 3, as: UInt8.self)
        let isAcknowledgement = (frame.getInteger(at: frame.readerIndex + 4, as: UInt8.self) ?? 0) & 1 == 1
        if type == 6, !isAcknowledgement { return !isDeaf() }
        guard type == 4, isAcknowledgement, !unacknowledged.isEmpty else { return true }
        guard let streams = unacknowledged.removeFirst() else { return true }
        agreed = streams
        return false
    }
}

extension [UInt8] {
    fileprivate init(bigEndian number: some FixedWidthInteger) {
        self = Swift.withUnsafeBytes(of: number.bigEndian) { Array($0) }
    }
}
