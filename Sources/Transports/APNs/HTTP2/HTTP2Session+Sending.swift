import NIOCore

extension HTTP2Session {
    /// Opens a stream for a request. There must be ``room``.
    ///
    /// - Parameter tag: The caller's number for the request. Each ``HTTP2Event`` of the request has this tag.
    /// - Returns: The stream's number.
    @discardableResult
    mutating func submit(_ request: HTTP2Request, tag: Int) -> UInt32 {
        precondition(room > 0, "a request was submitted, but the connection has no room for a stream")
        let stream = nextStream
        nextStream += 2
        streams.insert(.init(id: stream, tag: tag, window: initialWindow))
        encode(request)
        let size = request.bodyRange.count
        if block.count <= frameSizeMax, size <= min(frameSizeMax, window, initialWindow) {
            writeWhole(request, stream)
        } else {
            writeHeaderBlock(stream)
            blocked[stream] = BodyRest(body: request.body, range: request.bodyRange)
            sendBlocked(stream)
        }
        return stream
    }

    mutating func ping() {
        writeFrame(.ping, count: 8) { $0.storeBytes(of: 0x42, as: UInt64.self) }
    }

    // MARK: Requests

    private mutating func encode(_ request: HTTP2Request) {
        block.removeAll(keepingCapacity: true)
        table.writeAnnouncements(to: &block)
        block.append(HPACK.methodPOST)
        block.append(HPACK.schemeHTTPS)
        table.write(request.shared[0], to: &block)
        block += request.own[..<request.pathEnd]
        for index in 1..<request.shared.count { table.write(request.shared[index], to: &block) }
        block += request.own[request.pathEnd...]
    }

    /// Writes a request that fits into one HEADERS and one DATA frame, as most requests do.
    private mutating func writeWhole(_ request: HTTP2Request, _ stream: UInt32) {
        let (blockSize, bodySize) = (block.count, request.bodyRange.count)
        let total = 2 * FrameHeader.byteCount + blockSize + bodySize
        let headers = FrameHeader(length: blockSize, kind: .headers, flags: FrameFlag.endHeaders, stream: stream)
        let data = FrameHeader(length: bodySize, kind: .data, flags: FrameFlag.endStream, stream: stream)
        output.writeWithUnsafeMutableBytes(minimumWritableBytes: total) { bytes in
            guard var next = bytes.baseAddress else { return 0 }
            headers.write(to: next)
            next += FrameHeader.byteCount
            block.withUnsafeBytes { next.copyMemory(from: $0) }
            next += blockSize
            data.write(to: next)
            next += FrameHeader.byteCount
            request.body.withUnsafeBytes { next.copyMemory(from: $0, request.bodyRange) }
            return total
        }
        window -= bodySize
        streams.update(stream) { $0.window -= bodySize }
    }

    private mutating func writeHeaderBlock(_ stream: UInt32) {
        var rest = block[...]
        var kind = FrameKind.headers
        repeat {
            let part = rest.prefix(frameSizeMax)
            rest = rest.dropFirst(part.count)
            writeFrame(kind, flags: rest.isEmpty ? FrameFlag.endHeaders : 0, stream: stream, Array(part))
            kind = .continuation
        } while !rest.isEmpty
    }

    // MARK: Flow control

    /// Sends as much of the waiting bodies as the windows allow (RFC 9113, section 5.2), first the body of the oldest
    /// stream.
    mutating func sendBlocked() {
        guard !blocked.isEmpty else { return }
        for stream in blocked.keys.sorted() where window > 0 { sendBlocked(stream) }
    }

    mutating func sendBlocked(_ stream: UInt32) {
        while let rest = blocked[stream], let open = streams[stream] {
            let size = min(rest.range.count, window, open.window, frameSizeMax)
            guard size > 0 || rest.range.isEmpty else { return }
            let part = rest.range.prefix(size)
            let isLast = part.endIndex == rest.range.endIndex
            writeFrame(.data, flags: isLast ? FrameFlag.endStream : 0, stream: stream, Array(rest.body[part]))
            window -= size
            streams.update(stream) { $0.window -= size }
            blocked[stream] = isLast ? nil : BodyRest(body: rest.body, range: part.endIndex..<rest.range.endIndex)
        }
    }

    // MARK: Frames

    mutating func writeSettings(_ settings: [(id: UInt16, value: UInt32)]) {
        writeFrame(.settings, count: settings.count * 6) { bytes in
            for (index, setting) in settings.enumerated() {
                bytes.storeBytes(of: setting.id.bigEndian, toByteOffset: index * 6, as: UInt16.self)
                bytes.storeBytes(of: setting.value.bigEndian, toByteOffset: index * 6 + 2, as: UInt32.self)
            }
        }
    }

    mutating func writeReset(_ stream: UInt32, _ code: HTTP2ErrorCode) {
        writeFrame(.resetStream, stream: stream, count: 4) {
            $0.storeBytes(of: code.rawValue.bigEndian, as: UInt32.self)
        }
    }

    mutating func writeWindowUpdate(stream: UInt32, _ bytes: Int) {
        writeFrame(.windowUpdate, stream: stream, count: 4) {
            $0.storeBytes(of: UInt32(truncatingIfNeeded: bytes).bigEndian, as: UInt32.self)
        }
    }

    mutating func writeGoAway(_ code: HTTP2ErrorCode) {
        writeFrame(.goAway, count: 8) { bytes in
            bytes.storeBytes(of: 0, as: UInt32.self)
            bytes.storeBytes(of: code.rawValue.bigEndian, toByteOffset: 4, as: UInt32.self)
        }
    }

    mutating func writeFrame(_ kind: FrameKind, flags: UInt8 = 0, stream: UInt32 = 0, _ body: [UInt8]) {
        writeFrame(kind, flags: flags, stream: stream, count: body.count) { bytes in
            body.withUnsafeBytes { bytes.copyMemory(from: $0, 0..<body.count) }
        }
    }

    private mutating func writeFrame(
        _ kind: FrameKind, flags: UInt8 = 0, stream: UInt32 = 0, count: Int, _ write: (UnsafeMutableRawPointer) -> Void
    ) {
        output.writeWithUnsafeMutableBytes(minimumWritableBytes: FrameHeader.byteCount + count) { bytes in
            guard let start = bytes.baseAddress else { return 0 }
            FrameHeader(length: count, kind: kind, flags: flags, stream: stream).write(to: start)
            write(start + FrameHeader.byteCount)
            return FrameHeader.byteCount + count
        }
    }
}

extension UnsafeMutableRawPointer {
    fileprivate func copyMemory(from bytes: UnsafeRawBufferPointer) {
        if let start = bytes.baseAddress { copyMemory(from: start, byteCount: bytes.count) }
    }

    fileprivate func copyMemory(from bytes: UnsafeRawBufferPointer, _ range: Range<Int>) {
        if let start = bytes.baseAddress { copyMemory(from: start + range.lowerBound, byteCount: range.count) }
    }
}
