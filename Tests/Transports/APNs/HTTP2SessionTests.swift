import Testing

@testable import TransportAPNs

/// Tests the client's half of HTTP/2. The tests write each frame of the server.
@Suite struct HTTP2Sessions {
    @Test func `a connection begins with the preface and with settings that refuse server push`() throws {
        var session = HTTP2Session()
        let output = session.takeOutput()
        #expect(output.getString(at: 0, length: 24) == HTTP2Session.preface)
        let frames = try #require(SentFrame.read(output, skipping: 24))
        #expect(frames.map(\.kind) == [.settings, .windowUpdate])
        #expect(frames[0].body == [0, 2, 0, 0, 0, 0])
    }

    @Test func `there is no room for requests before the server's settings`() {
        var session = HTTP2Session()
        #expect(session.room == 0)
        _ = session.takeOutput()
        session.receive(ServerFrames.settings([(SettingID.concurrentStreamsMax, 7)]))
        #expect(session.room == 7)
        #expect(session.takeFrames().last?.flags == FrameFlag.ack)
    }

    @Test func `a request is one HEADERS frame and one DATA frame`() {
        var session = HTTP2Session.ready()
        #expect(session.submit(.of("{}"), tag: 1) == 1)
        #expect(session.submit(.of("{\"a\":1}"), tag: 2) == 3)
        let frames = session.takeFrames()
        #expect(frames.map(\.kind) == [.headers, .data, .headers, .data])
        #expect(frames.map(\.stream) == [1, 1, 3, 3])
        #expect(frames[1].body == Array("{}".utf8) && frames[1].flags == FrameFlag.endStream)
        #expect(frames[2].body.count < frames[0].body.count - 30, "the second request has indexes of shared fields")
    }

    @Test func `the room for requests follows the server's settings at once`() {
        var session = HTTP2Session.ready()
        for tag in 0..<50 { session.submit(.of("{}"), tag: tag) }
        #expect(session.room == 50)
        session.receive(ServerFrames.settings([(SettingID.concurrentStreamsMax, 10)]))
        #expect(session.room == 0)
        for stream in stride(from: UInt32(1), to: 83, by: 2) {
            session.receive(ServerFrames.answer(stream, status: 200))
        }
        #expect(session.room == 1)
    }

    @Test func `there is no room for requests when the stream numbers are used up`() {
        var session = HTTP2Session.ready()
        session.nextStream = HTTP2Session.lastStreamMax - 6
        #expect(session.room == 3)
        let streams = (1...3).map { session.submit(.of("{}"), tag: $0) }
        #expect(streams == [6, 4, 2].map { HTTP2Session.lastStreamMax - $0 })
        #expect(session.room == 0)
        session.receive(ServerFrames.answer(streams[2], status: 200))
        #expect(session.takeEventTexts() == ["3: 200 "] && session.room == 0)
    }

    @Test func `each answer is reported with the tag of its request`() {
        var session = HTTP2Session.ready()
        for tag in [5, 6, 7] { session.submit(.of("{}"), tag: tag) }
        session.receive(ServerFrames.answer(3, status: 200) + ServerFrames.answer(1, status: 410, body: "{}"))
        #expect(session.takeEventTexts() == ["6: 200 ", "5: 410 {}"])
        #expect(session.streams.count == 1)
    }

    @Test func `the server's bytes may come in pieces of any size`() {
        let bytes =
            ServerFrames.answer(1, status: 400, [("apns-unique-id", "u")], body: #"{"reason":"BadTopic"}"#)
            + ServerFrames.goAway(last: 1, .noError, "bye") + ServerFrames.frame(.ping, [1, 2, 3, 4, 5, 6, 7, 8])
        for size in 1...bytes.count {
            var session = HTTP2Session.ready()
            session.submit(.of("{}"), tag: 9)
            _ = session.takeFrames()
            for start in stride(from: 0, to: bytes.count, by: size) {
                session.receive(Array(bytes[start..<min(start + size, bytes.count)]))
            }
            let texts = session.takeEventTexts()
            #expect(texts == [#"9: 400 {"reason":"BadTopic"}"#, "goaway 1 0 bye"], "pieces of \(size)")
            let pong = SentFrame(kind: .ping, flags: 1, stream: 0, body: [1, 2, 3, 4, 5, 6, 7, 8])
            #expect(session.takeFrames() == [pong])
        }
    }

    @Test func `requests on streams above the last stream of a GOAWAY are reported as refused`() {
        var session = HTTP2Session.ready()
        for tag in 1...3 { session.submit(.of("{}"), tag: tag) }
        session.receive(ServerFrames.goAway(last: HTTP2Session.lastStreamMax))
        #expect(session.room == 0 && session.takeEventTexts().count == 1)
        session.receive(ServerFrames.goAway(last: 3))
        #expect(session.takeEventTexts() == ["3: refused", "goaway 3 0 "])
        session.receive(ServerFrames.goAway(last: 5))
        #expect(session.takeEventTexts() == ["goaway 3 0 "], "a later GOAWAY may only lower the number")
        session.receive(ServerFrames.answer(3, status: 200))
        session.close()
        #expect(session.takeEventTexts() == ["2: 200 ", "1: broken 8"])
    }

    @Test func `a refused stream is reported differently from a broken one`() {
        var session = HTTP2Session.ready()
        for tag in 1...3 { session.submit(.of("{}"), tag: tag) }
        session.receive(ServerFrames.reset(1, .refusedStream) + ServerFrames.reset(3, .cancel))
        #expect(session.takeEventTexts() == ["1: refused", "2: broken 8"])
    }

    @Test func `an answer may come before the end of the request's body`() {
        var session = HTTP2Session.ready([(SettingID.initialWindowSize, 1)])
        session.submit(.of("{\"long\":1}"), tag: 1)
        let head = ServerFrames.frame(
            .headers, flags: FrameFlag.endHeaders, stream: 1, [0x08, 0x03] + Array("413".utf8))
        session.receive(head + ServerFrames.reset(1, .noError))
        #expect(session.takeEventTexts() == ["1: 413 "])
        #expect(session.blocked.isEmpty && session.streams.count == 0)
    }

    @Test func `bodies wait for the server's flow-control windows`() {
        var session = HTTP2Session.ready([(SettingID.initialWindowSize, 4)])
        session.submit(.of("0123456789"), tag: 1)
        #expect(session.takeFrames().map(\.body.count).last == 4)
        session.receive(ServerFrames.windowUpdate(1, 3))
        #expect(session.takeFrames().map(\.body) == [Array("456".utf8)])
        session.receive(ServerFrames.settings([(SettingID.initialWindowSize, 100)]))
        let last = session.takeFrames().first { $0.kind == .data }
        #expect(last?.body == Array("789".utf8) && last?.flags == FrameFlag.endStream)
    }

    @Test func `no more bytes are sent than the connection's flow-control window allows`() {
        var session = HTTP2Session.ready()
        let body = String(repeating: "x", count: 4_000)
        for tag in 0..<17 { session.submit(.of(body), tag: tag) }
        let sent = session.takeFrames().filter { $0.kind == .data }.map(\.body.count).reduce(0, +)
        #expect(sent == 65_535)
        session.receive(ServerFrames.windowUpdate(0, 10_000))
        let rest = session.takeFrames().map(\.body.count).reduce(0, +)
        #expect(rest == 17 * 4_000 - 65_535)
    }

    @Test func `if the server allows only a smaller header table, the client announces and keeps this size`() {
        var session = HTTP2Session.ready()
        session.submit(.of("{}"), tag: 1)
        _ = session.takeFrames()
        session.receive(ServerFrames.settings([(SettingID.headerTableSize, 0)]))
        _ = session.takeFrames()
        session.submit(.of("{}"), tag: 2)
        session.submit(.of("{}"), tag: 3)
        let blocks = session.takeFrames().filter { $0.kind == .headers }.map(\.body)
        #expect(blocks[0].first == 0x20, "the size update comes first")
        #expect(blocks[1].count == blocks[0].count - 1, "no field is in the table any more")
    }

    @Test(arguments: [
        ("a PUSH_PROMISE frame", ServerFrames.frame(.pushPromise, stream: 1, [0, 0, 0, 2]), 1),
        ("a frame that is too long", [0x01, 0x00, 0x01, 0, 0, 0, 0, 0, 1], 6),
        (
            "a header block that is not continued",
            ServerFrames.frame(.headers, stream: 1, [0x88]) + ServerFrames.frame(.ping, [0, 0, 0, 0, 0, 0, 0, 0]), 1
        ),
        (
            "a CONTINUATION frame without a HEADERS frame before it",
            ServerFrames.frame(.continuation, stream: 1, [0x88]), 1
        ),
        (
            "a header block that is not valid HPACK",
            ServerFrames.frame(.headers, flags: FrameFlag.endHeaders, stream: 1, [0xFF, 0xFF, 0xFF, 0xFF, 0xFF]), 9
        ),
        ("more padding than bytes", ServerFrames.frame(.data, flags: FrameFlag.padded, stream: 1, [9, 1]), 1),
        ("settings of five bytes", ServerFrames.frame(.settings, [0, 1, 0, 0, 0]), 6),
        ("a window beyond its limit", ServerFrames.windowUpdate(0, 0x7FFF_FFFF), 3),
    ])
    func `a violation of the protocol ends the connection`(_ name: String, _ bytes: [UInt8], _ code: Int) {
        var session = HTTP2Session.ready()
        session.submit(.of("{}"), tag: 1)
        _ = session.takeFrames()
        session.receive(bytes)
        #expect(session.takeEventTexts() == ["failed \(code)"], "\(name)")
        #expect(session.takeFrames().last?.kind == .goAway && session.room == 0)
    }

    @Test func `interim answers and trailers do not change the reported answer`() {
        var session = HTTP2Session.ready()
        session.submit(.of("{}"), tag: 1)
        let interim = ServerFrames.frame(
            .headers, flags: FrameFlag.endHeaders, stream: 1, [0x08, 0x03] + Array("103".utf8))
        let head = ServerFrames.frame(.headers, flags: FrameFlag.endHeaders, stream: 1, [0x88])
        let trailers = ServerFrames.frame(
            .headers, flags: FrameFlag.endHeaders | FrameFlag.endStream, stream: 1, [0x00, 1, 0x61, 1, 0x62])
        session.receive(interim + head + trailers)
        #expect(session.takeEventTexts() == ["1: 200 "])
    }

    @Test func `an answer that is too long is reported without its end, and its stream is reset`() {
        var session = HTTP2Session.ready()
        session.submit(.of("{}"), tag: 1)
        _ = session.takeFrames()
        session.receive(ServerFrames.frame(.headers, flags: FrameFlag.endHeaders, stream: 1, [0x88]))
        let data = ServerFrames.frame(
            .data, stream: 1, Array(repeating: UInt8(ascii: "x"), count: HTTP2Session.answerBytesMax))
        session.receive(data)
        #expect(session.takeEventTexts() == [])
        session.receive(data)
        #expect(session.takeEventTexts() == ["1: 200 " + String(repeating: "x", count: HTTP2Session.answerBytesMax)])
        #expect(session.takeFrames().map(\.kind) == [.resetStream] && session.streams.count == 0)
    }

    @Test func `streams that last long do not disturb later streams`() {
        var session = HTTP2Session.ready([(SettingID.concurrentStreamsMax, 1_000)])
        session.submit(.of("{}"), tag: 0)
        for tag in 1...5_000 {
            let stream = session.submit(.of("{}"), tag: tag)
            if tag % 700 != 0 { session.receive(ServerFrames.answer(stream, status: 200)) }
        }
        #expect(session.streams.count == 8)
        #expect(session.takeEventTexts().count == 4_993)
        session.receive(ServerFrames.answer(1, status: 200))
        #expect(session.takeEventTexts() == ["0: 200 "])
    }
}
