import NIOCore

extension HTTP2Session {
    /// Reads the server's next bytes, and appends the resulting ``events``. The bytes may end anywhere in a frame.
    mutating func receive(_ bytes: UnsafeRawBufferPointer) {
        guard !partial.isEmpty else { return keepPartialFrame(bytes, from: readFrames(bytes)) }
        partial += bytes
        var whole: [UInt8] = []
        swap(&whole, &partial)
        whole.withUnsafeBytes { keepPartialFrame($0, from: readFrames($0)) }
    }

    private mutating func keepPartialFrame(_ bytes: UnsafeRawBufferPointer, from start: Int) {
        if !hasEnded, start < bytes.count { partial = Array(bytes[start...]) }
    }

    /// - Returns: Where the first incomplete frame begins.
    private mutating func readFrames(_ bytes: UnsafeRawBufferPointer) -> Int {
        var start = 0
        while !hasEnded, bytes.count - start >= FrameHeader.byteCount {
            let header = FrameHeader(UnsafeRawBufferPointer(rebasing: bytes[start...]))
            // RFC 9113, section 4.2: the default limit, which our SETTINGS do not change.
            guard header.length <= 16_384 else {
                fail(.frameSizeError, "a frame of \(header.length) bytes")
                break
            }
            let end = start + FrameHeader.byteCount + header.length
            guard end <= bytes.count else { break }
            read(header, UnsafeRawBufferPointer(rebasing: bytes[(start + FrameHeader.byteCount)..<end]))
            start = end
        }
        return start
    }

    private mutating func read(_ header: FrameHeader, _ body: UnsafeRawBufferPointer) {
        if let open = openBlock, header.kind != FrameKind.continuation.rawValue || header.stream != open.stream {
            return fail(.protocolError, "a header block was not continued")
        }
        switch FrameKind(rawValue: header.kind) {
        case .headers: readHeaders(header, body)
        case .data: readData(header, body)
        case .continuation: readContinuation(header, body)
        case .resetStream: readReset(header, body)
        case .settings: readSettings(header, body)
        case .ping: readPing(header, body)
        case .goAway: readGoAway(body)
        case .windowUpdate: readWindowUpdate(header, body)
        case .pushPromise: fail(.protocolError, "a PUSH_PROMISE frame, although ENABLE_PUSH is 0")
        case .priority, nil: break
        }
    }

    // MARK: Answers

    private mutating func readHeaders(_ header: FrameHeader, _ body: UnsafeRawBufferPointer) {
        guard var block = unpadded(header, body) else { return }
        if header.flags & FrameFlag.priority != 0 {
            guard block.count >= 5 else { return fail(.frameSizeError, "a HEADERS frame without its priority") }
            block = UnsafeRawBufferPointer(rebasing: block[5...])
        }
        let endsStream = header.flags & FrameFlag.endStream != 0
        if header.flags & FrameFlag.endHeaders != 0 {
            finishBlock(block, header.stream, endsStream: endsStream)
        } else {
            openBlock = HeaderBlock(stream: header.stream, endsStream: endsStream, bytes: Array(block))
        }
    }

    private mutating func readContinuation(_ header: FrameHeader, _ body: UnsafeRawBufferPointer) {
        guard var open = openBlock else {
            return fail(.protocolError, "a CONTINUATION frame without a HEADERS frame before it")
        }
        open.bytes += body
        guard open.bytes.count <= 64 << 10 else {
            return fail(.enhanceYourCalm, "a header block of more than 64 KiB")
        }
        openBlock = open
        guard header.flags & FrameFlag.endHeaders != 0 else { return }
        openBlock = nil
        open.bytes.withUnsafeBytes { finishBlock($0, open.stream, endsStream: open.endsStream) }
    }

    private mutating func finishBlock(_ block: UnsafeRawBufferPointer, _ stream: UInt32, endsStream: Bool) {
        guard let head = decoder.decode(block) else {
            return fail(.compressionError, "a header block is not valid HPACK")
        }
        guard let open = streams[stream] else { return }
        // Interim answers come before the final status, trailers after it.
        let isFinal = head.status >= 200 && open.status == 0
        if endsStream {
            guard let final = isFinal ? head : heads[stream] else { return breakStream(stream) }
            return finish(stream, final)
        }
        guard isFinal else { return }
        streams.update(stream) { $0.status = head.status }
        heads[stream] = head
    }

    private mutating func readData(_ header: FrameHeader, _ body: UnsafeRawBufferPointer) {
        noteReceived(header.length)
        guard let data = unpadded(header, body), streams[header.stream] != nil else { return }
        let room = Self.answerBytesMax - (bodies[header.stream]?.count ?? 0)
        if !data.isEmpty, room > 0 { bodies[header.stream, default: []] += data.prefix(room) }
        let isEnd = header.flags & FrameFlag.endStream != 0
        guard isEnd || data.count > room else { return }
        guard let head = heads[header.stream] else { return breakStream(header.stream) }
        // The rest of a longer answer is not needed, and the stream's receive window is never enlarged for it.
        if !isEnd, blocked[header.stream] == nil { writeReset(header.stream, .cancel) }
        finish(header.stream, head)
    }

    private mutating func finish(_ stream: UInt32, _ head: ResponseHead) {
        guard let removed = streams.remove(stream) else { return }
        // A server may answer before it has read the whole request (RFC 9113, section 8.1).
        if blocked[stream] != nil { writeReset(stream, .noError) }
        let body = bodies.isEmpty ? [] : bodies[stream] ?? []
        forget(stream)
        events.append(.answer(tag: removed.tag, head, body: body))
    }

    /// Ends a stream whose answer is malformed (RFC 9113, section 8.1.1).
    private mutating func breakStream(_ stream: UInt32) {
        guard let removed = streams.remove(stream) else { return }
        forget(stream)
        writeReset(stream, .protocolError)
        events.append(.broken(tag: removed.tag, .protocolError))
    }

    private mutating func readReset(_ header: FrameHeader, _ body: UnsafeRawBufferPointer) {
        guard body.count == 4 else { return fail(.frameSizeError, "an RST_STREAM of \(body.count) bytes") }
        if streams[header.stream] != nil, let head = heads[header.stream] { return finish(header.stream, head) }
        guard let removed = streams.remove(header.stream) else { return }
        forget(header.stream)
        let code = HTTP2ErrorCode(rawValue: body.word(at: 0))
        events.append(code == .refusedStream ? .refused(tag: removed.tag) : .broken(tag: removed.tag, code))
    }

    // MARK: The connection

    private mutating func readSettings(_ header: FrameHeader, _ body: UnsafeRawBufferPointer) {
        guard header.flags & FrameFlag.ack == 0 else { return }
        guard body.count % 6 == 0 else { return fail(.frameSizeError, "a SETTINGS frame of \(body.count) bytes") }
        for start in stride(from: 0, to: body.count, by: 6) {
            let id = UInt16(bigEndian: body.loadUnaligned(fromByteOffset: start, as: UInt16.self))
            apply(id, Int(body.word(at: start + 2)))
        }
        let streamsMax = streamsMax ?? Self.streamsWithoutLimit
        self.streamsMax = streamsMax
        writeFrame(.settings, flags: FrameFlag.ack, [])
        events.append(.settings(streamsMax: streamsMax))
        sendBlocked()
    }

    /// How many streams may be open at the same time if the server sets no limit.
    private static let streamsWithoutLimit = 1_000

    private mutating func apply(_ id: UInt16, _ value: Int) {
        switch id {
        case SettingID.headerTableSize: table.allow(value)
        case SettingID.concurrentStreamsMax: streamsMax = value
        case SettingID.initialWindowSize:
            guard value <= 0x7FFF_FFFF else {
                return fail(.flowControlError, "SETTINGS_INITIAL_WINDOW_SIZE is \(value)")
            }
            let change = value - initialWindow
            initialWindow = value
            // RFC 9113, section 6.9.2: this also changes the windows of open streams, which may become negative.
            streams.updateAll { $0.window += change }
        case SettingID.frameSizeMax:
            guard 16_384...16_777_215 ~= value else {
                return fail(.protocolError, "SETTINGS_MAX_FRAME_SIZE is \(value)")
            }
            frameSizeMax = value
        default: break
        }
    }

    private mutating func readPing(_ header: FrameHeader, _ body: UnsafeRawBufferPointer) {
        guard body.count == 8 else { return fail(.frameSizeError, "a PING of \(body.count) bytes") }
        if header.flags & FrameFlag.ack != 0 {
            events.append(.pong)
        } else {
            writeFrame(.ping, flags: FrameFlag.ack, Array(body))
        }
    }

    private mutating func readGoAway(_ body: UnsafeRawBufferPointer) {
        guard body.count >= 8 else { return fail(.frameSizeError, "a GOAWAY of \(body.count) bytes") }
        let last = min(body.word(at: 0) & 0x7FFF_FFFF, goAwayLast ?? Self.lastStreamMax)
        goAwayLast = last
        // RFC 9113, section 6.8: requests on higher streams were not processed.
        endAll(above: last) { .refused(tag: $0.tag) }
        events.append(
            .goAway(lastStream: last, HTTP2ErrorCode(rawValue: body.word(at: 4)), debugData: Array(body[8...])))
    }

    private mutating func readWindowUpdate(_ header: FrameHeader, _ body: UnsafeRawBufferPointer) {
        guard body.count == 4 else { return fail(.frameSizeError, "a WINDOW_UPDATE of \(body.count) bytes") }
        let increment = Int(body.word(at: 0) & 0x7FFF_FFFF)
        if header.stream == 0 {
            window += increment
            if window > 0x7FFF_FFFF { return fail(.flowControlError, "a window beyond 2³¹ − 1 bytes") }
            sendBlocked()
        } else {
            streams.update(header.stream) { $0.window += increment }
            if blocked[header.stream] != nil { sendBlocked(header.stream) }
        }
    }

    /// Counts received bytes, and enlarges our receive window before the server has used it up.
    private mutating func noteReceived(_ bytes: Int) {
        unacknowledgedBytes += bytes
        guard unacknowledgedBytes > Self.windowBytes / 4 else { return }
        writeWindowUpdate(stream: 0, unacknowledgedBytes)
        unacknowledgedBytes = 0
    }

    private mutating func unpadded(_ header: FrameHeader, _ body: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
        guard header.flags & FrameFlag.padded != 0 else { return body }
        guard let padding = body.first, Int(padding) < body.count else {
            fail(.protocolError, "a frame with more padding than bytes")
            return nil
        }
        return UnsafeRawBufferPointer(rebasing: body[1..<(body.count - Int(padding))])
    }
}

extension UnsafeRawBufferPointer {
    fileprivate func word(at offset: Int) -> UInt32 {
        UInt32(bigEndian: loadUnaligned(fromByteOffset: offset, as: UInt32.self))
    }
}
