import Foundation
import Testing

@testable import LocalAPNs

/// Tests a running server over TLS, with clients that do not use NIO.
@Suite(.timeLimit(.minutes(5)))
struct WireTests {
    /// The step of ``FrameClient`` that sends the whole body on stream 1.
    private static let sendBody1 = #"body 1 {"aps":{"alert":"Hi"}}"#

    @Test func `a push with a provider token is accepted`() async throws {
        let live = try await LiveServer()
        let id = "b77aeb23-2ffb-4a72-8d4c-c9a6c5e5f0d5"
        let answer = try live.push("-H", "apns-id: \(id)")
        #expect(answer.hasPrefix("HTTP/2 200"))
        #expect(answer.contains("apns-id: \(id)"))
        #expect(answer.contains("apns-unique-id: "))
        let request = try #require(live.apns.received.first)
        #expect(request.id == id && request.token == "ab01" && request.status == 200)
        #expect(request.keyID == "KEYLOCAL12" && request.tokenIssuedAt == Fixture.start / 1000)
        #expect(request.notice?.body == "Hi" && request.body == Array(#"{"aps":{"alert":"Hi"}}"#.utf8))
        try await live.apns.stop()
    }

    @Test func `a rejection has its reason in the body`() async throws {
        let live = try await LiveServer()
        let answer = try live.curl()
        #expect(answer.hasPrefix("HTTP/2 403"))
        #expect(answer.hasSuffix(#"{"reason":"MissingProviderToken"}"#))
        try await live.apns.stop()
    }

    @Test func `a client with a certificate needs no token`() async throws {
        let live = try await LiveServer()
        let credentials = live.apns.credentials
        let answer = try live.curl(
            "--cert", credentials.clientPath, "--key", credentials.clientKeyPath, "-H", "apns-push-type: alert")
        #expect(answer.hasPrefix("HTTP/2 200"))
        let lines = live.apns.records.map(\.json)
        #expect(lines[0].contains(#""certificate":"com.example.Notes""#))
        #expect(lines[1].contains(#""streams":1000"#))
        try await live.apns.stop()
    }

    @Test func `a certificate of another authority ends the connection`() async throws {
        let live = try await LiveServer()
        let other = try await LiveServer()
        let stranger = other.apns.credentials
        let answer = try live.curl("--cert", stranger.clientPath, "--key", stranger.clientKeyPath)
        #expect(!answer.hasPrefix("HTTP/2"))
        let goAway = live.apns.records.map(\.json).first { $0.contains("goaway") && $0.contains("lastStream") }
        #expect(
            goAway?.contains(#""lastStream":0,"code":"NO_ERROR","debug":"{\"reason\":\"BadCertificate\"}""#) == true,
            "\(live.apns.records.map(\.json))")
        try await live.apns.stop()
        try await other.apns.stop()
    }

    @Test func `a client without HTTP2 is disconnected`() async throws {
        let live = try await LiveServer()
        #expect(try !live.push("--http1.1").contains("HTTP/"))
        #expect(live.apns.receivedCount == 0)
        try await live.apns.stop()
    }

    @Test func `a client with tokens has one stream until its first valid token`() async throws {
        let live = try await LiveServer()
        let lines = try live.exchangeFrames(
            "wait settings table", "ack", "open 1 authorization=x", WireTests.sendBody1, "wait data",
            "open 3", #"body 3 {}"#, "wait settings streams=1000")
        let first = try #require(lines.first)
        #expect(first == "settings table=4096 streams=1 window=65535 frame=16384 headers=8000")
        #expect(lines.contains(#"data 1 {"reason":"MissingProviderToken"}"#))
        #expect(lines.suffix(2) == ["headers 3 end", "settings streams=1000"])
        try await live.apns.stop()
    }

    @Test func `a stream above the limit is refused`() async throws {
        let live = try await LiveServer()
        let lines = try live.exchangeFrames(
            "wait settings table", "ack", "open 1", "open 3", "wait reset", WireTests.sendBody1, "wait headers")
        #expect(lines.contains("reset 3 7"))
        #expect(lines.last == "headers 1 end")
        #expect(live.apns.records.contains { $0.json.contains(#""event":"refused","stream":3"#) })
        try await live.apns.stop()
    }

    @Test func `bodies of refused streams do not use up the connection's receive window`() async throws {
        let live = try await LiveServer()
        let body = String(repeating: "x", count: 4000)
        var steps = ["wait settings table", "ack", "open 1"]
        for id in stride(from: 3, through: 63, by: 2) {
            steps += ["open \(id)", "wait reset \(id)", "body \(id) \(body)"]
        }
        let lines = try live.exchangeFrames(steps: steps + [WireTests.sendBody1, "wait headers 1"])
        #expect(lines.last == "headers 1 end")
        try await live.apns.stop()
    }

    @Test func `a long body is read to its end`() async throws {
        let live = try await LiveServer()
        let body = try live.write(String(repeating: "x", count: 1_000_000), to: "body")
        let answer = try live.push("-d", "@\(body)")
        #expect(answer.hasSuffix(#"{"reason":"PayloadTooLarge"}"#))
        try await live.apns.stop()
    }

    @Test func `a script changes the number of streams`() async throws {
        let live = try await LiveServer(#"{"when":{"nth":2},"do":{"streams":5}}"#)
        let lines = try live.exchangeFrames(
            "wait settings table", "ack", "open 1", WireTests.sendBody1, "wait settings streams=1000", "ack",
            "open 3", "body 3 {}", "wait settings streams=5", "ack", "wait headers 3")
        #expect(lines.last == "headers 3 end")
        try await live.apns.stop()
    }

    @Test func `with the quirk fallAfterError, a client has one stream from an error until the next success`()
        async throws
    {
        let live = try await LiveServer(#"{"quirks":{"fallAfterError":true}}"#)
        let lines = try live.exchangeFrames(
            "wait settings table", "ack", "open 1", WireTests.sendBody1, "wait settings streams=1000",
            "open 3 :path=/3/device/x", "body 3 {}", "wait settings streams=1",
            "open 5", "body 5 {}", "wait settings streams=1000")
        #expect(lines.last == "settings streams=1000")
        try await live.apns.stop()
    }

    @Test func `a script can send GOAWAY twice`() async throws {
        let live = try await LiveServer(
            #"{"when":{"nth":2},"do":{"goaway":{"reason":"Shutdown","twice":true,"lastStream":"before"}}}"#)
        let lines = try live.exchangeFrames(
            "wait settings table", "ack", "open 1", WireTests.sendBody1, "wait headers 1", "open 3", "body 3 {}",
            "wait closed")
        #expect(
            lines.suffix(3) == [
                #"goaway 2147483647 0 {"reason":"Shutdown"}"#, #"goaway 1 0 {"reason":"Shutdown"}"#, "closed",
            ])
        try await live.apns.stop()
    }

    @Test func `a script can keep a connection open after GOAWAY`() async throws {
        let live = try await LiveServer(
            #"{"when":{"nth":1},"do":{"goaway":{"text":"too many active streams","code":"REFUSED_STREAM","close":false}}}"#
        )
        let lines = try live.exchangeFrames(
            "wait settings table", "ack", "open 1", WireTests.sendBody1, "wait headers 1", "open 3", "body 3 {}",
            "ping", "wait ping")
        #expect(lines.contains("goaway 1 7 too many active streams"))
        #expect(lines.last == "ping ack")
        #expect(!lines.contains { $0.hasPrefix("headers 3") })
        #expect(live.apns.receivedCount == 1)
        try await live.apns.stop()
    }

    @Test func `a quirk ends the connection after several errors`() async throws {
        let live = try await LiveServer(#"{"quirks":{"goAwayAfterErrors":2}}"#)
        let lines = try live.exchangeFrames(
            "wait settings table", "ack", "open 1 authorization=x", "body 1 {}", "wait data", "open 3 apns-priority=7",
            "body 3 {}", "wait closed")
        #expect(lines.suffix(2) == ["goaway 3 0", "closed"])
        try await live.apns.stop()
    }

    @Test func `a malformed request resets only its stream`() async throws {
        let live = try await LiveServer()
        let lines = try live.exchangeFrames(
            "wait settings table", "ack", "open 1 X-Upper=1", "body 1 {}", "wait reset", "open 3", "body 3 {}",
            "wait headers")
        #expect(lines.contains("reset 1 1"))
        #expect(lines.last == "headers 3 end")
        #expect(live.apns.received.first?.ending == "reset PROTOCOL_ERROR")
        try await live.apns.stop()
    }

    @Test func `an answer may come before the end of the body`() async throws {
        let live = try await LiveServer(#"{"do":{"early":true}}"#)
        let lines = try live.exchangeFrames("wait settings table", "ack", "open 1", "part 1 {", "wait reset")
        #expect(lines.suffix(3).contains("headers 1 end"))
        #expect(lines.last == "reset 1 0")
        try await live.apns.stop()
    }

    @Test func `a script can leave requests and PING without an answer`() async throws {
        let live = try await LiveServer(
            #"{"quirks":{"ignorePings":true}}"# + "\n" + #"{"when":{"nth":1},"do":{"silence":true}}"#)
        let lines = try live.exchangeFrames(
            "wait settings table", "ack", "open 1", WireTests.sendBody1, "ping", "open 3", "wait reset 3")
        #expect(lines.last == "reset 3 7")
        #expect(!lines.contains("ping ack") && !lines.contains { $0.hasPrefix("headers") })
        try await live.apns.stop()
    }

    @Test func `a dropped connection ends without a TLS close`() async throws {
        let live = try await LiveServer(#"{"do":{"drop":true}}"#)
        let lines = try live.exchangeFrames("wait settings table", "ack", "open 1", WireTests.sendBody1, "wait closed")
        #expect(lines.last == "cut")
        try await live.apns.stop()
    }

    @Test func `a scripted answer has the headers and the timestamp of the script`() async throws {
        let live = try await LiveServer(
            #"{"do":{"status":410,"reason":"Unregistered","timestamp":17,"retryAfter":9,"latency":5}}"# + "\n"
                + #"{"quirks":{"upperCaseIDs":true}}"#)
        let answer = try live.push("-H", "apns-id: b77aeb23-2ffb-4a72-8d4c-c9a6c5e5f0d5")
        #expect(answer.hasPrefix("HTTP/2 410"))
        #expect(answer.contains("retry-after: 9"))
        #expect(answer.contains("apns-id: B77AEB23-2FFB-4A72-8D4C-C9A6C5E5F0D5"))
        #expect(answer.hasSuffix(#"{"reason":"Unregistered","timestamp":17}"#))
        try await live.apns.stop()
    }

    @Test func `a command moves the clock`() async throws {
        let live = try await LiveServer()
        #expect(try live.push().hasPrefix("HTTP/2 200"))
        #expect(try await live.apns.control(#"{"clock":"+61m"}"#) == "the clock shows 2026-01-01T01:01:00.000Z")
        #expect(try live.push().hasSuffix(#"{"reason":"ExpiredProviderToken"}"#))
        try await live.apns.stop()
    }

    @Test func `a command changes the state of a device`() async throws {
        let live = try await LiveServer()
        let device = #"{"token":"ab01","topic":"com.example.Notes","state":"#
        try await live.apns.control(#"{"device":\#(device)"offline"}}"#)
        #expect(try live.push().hasPrefix("HTTP/2 200"))
        #expect(live.apns.received.last?.fate == "stored")
        try await live.apns.control(#"{"device":\#(device)"active"}}"#)
        #expect(
            live.apns.records.contains {
                $0.json.contains(#""type":"delivery""#) && $0.json.contains(#""fate":"shown""#)
            })
        try await live.apns.control(#"{"device":\#(device)"unregistered","since":5}}"#)
        #expect(try live.push().hasSuffix(#"{"reason":"Unregistered","timestamp":5}"#))
        try await live.apns.stop()
    }

    @Test func `a listener that comes late also gets the earlier requests that the server kept`() async throws {
        let live = try await LiveServer()
        _ = try live.push(device: "ab01")
        async let all = live.apns.requests.reduce(into: [String?]()) { $0.append($1.token) }
        _ = try live.push(device: "ab02")
        try await live.apns.stop()
        #expect(await all == ["ab01", "ab02"])
    }

    @Test func `many requests at once are answered`() async throws {
        // h2load opens many streams before it has read SETTINGS. So the server must not refuse them.
        let live = try await LiveServer(#"{"quirks":{"overLimit":"serve"}}"#)
        let body = try live.write(#"{"aps":{"alert":"Hi"}}"#, to: "body")
        let run = try Run(
            "/usr/bin/h2load",
            [
                "-n", "2000", "-c", "2", "-m", "100", "-d", body, "-H", "authorization: bearer \(try live.token())",
                "-H", "apns-topic: com.example.Notes", "-H", "apns-push-type: alert", live.url(),
            ])
        #expect(run.output.contains("2000 succeeded, 0 failed"), "\(run.output)")
        #expect(live.apns.receivedCount == 2000)
        try await live.apns.stop()
    }
}
