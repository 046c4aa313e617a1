import Testing

@testable import LocalAPNs

struct ScriptTests {
    private func script(_ lines: String..., lineEnd: String = "\n") throws -> Script {
        let read = try LineFile.script(lines.joined(separator: lineEnd), name: "script")
        return Script(
            read.compactMap {
                guard case .rule(let rule) = $0 else { return nil }
                return rule
            })
    }

    private func facts(
        _ token: String = "ab01", topic: String = "com.example.Notes", type: String? = "alert", connection: Int = 1,
        errors: Int = 0
    ) -> RequestFacts {
        RequestFacts(token: token, topic: topic, type: type, connection: connection, errors: errors)
    }

    private func statuses(_ script: inout Script, _ count: Int) -> [Int?] {
        (1...count).map { _ in script.conduct(for: facts(), at: 0).answer?.status }
    }

    @Test func `a rule without conditions applies to all requests`() throws {
        var script = try script(#"{"do":{"status":503,"reason":"Shutdown","retryAfter":7}}"#)
        let conduct = script.conduct(for: facts(), at: 0)
        #expect(conduct.answer == ScriptedAnswer(status: 503, reason: "Shutdown"))
        #expect(conduct.retryAfter == 7)
        let other = facts("cd", topic: "com.a", type: nil, connection: 2, errors: 1)
        #expect(script.conduct(for: other, at: 0) == conduct)
    }

    @Test func `a rule can name a token, a topic, a type and a connection`() throws {
        var script = try script(
            #"{"when":{"token":"AB*"},"do":{"status":410}}"#, #"{"when":{"topic":"com.a"},"do":{"status":400}}"#,
            #"{"when":{"type":"voip"},"do":{"status":413}}"#, #"{"when":{"connection":2},"do":{"status":500}}"#)
        #expect(script.conduct(for: facts("abff"), at: 0).answer?.status == 410)
        #expect(script.conduct(for: facts("ff", topic: "com.a"), at: 0).answer?.status == 400)
        #expect(script.conduct(for: facts("ff", type: "voip"), at: 0).answer?.status == 413)
        #expect(script.conduct(for: facts("ff", connection: 2), at: 0).answer?.status == 500)
        #expect(script.conduct(for: facts("ff"), at: 0) == Conduct())
    }

    @Test func `a rule can apply to the nth, to every nth, to the first or to later requests`() throws {
        var third = try script(#"{"when":{"nth":3},"do":{"status":500}}"#)
        #expect(statuses(&third, 4) == [nil, nil, 500, nil])
        var every = try script(#"{"when":{"every":2},"do":{"status":500}}"#)
        #expect(statuses(&every, 4) == [nil, 500, nil, 500])
        var between = try script(#"{"when":{"beyond":1,"first":3},"do":{"status":500}}"#)
        #expect(statuses(&between, 4) == [nil, 500, 500, nil])
    }

    @Test func `a rule counts only the requests that fit its other conditions`() throws {
        var script = try script(#"{"when":{"token":"cd*","nth":2},"do":{"status":500}}"#)
        let statuses = ["cd", "ab", "cd"].map { script.conduct(for: facts($0), at: 0).answer?.status }
        #expect(statuses == [nil, nil, 500])
    }

    @Test func `the seed decides which requests a random share selects`() throws {
        var first = try script(#"{"when":{"share":0.25,"seed":7},"do":{"status":500}}"#)
        var again = first
        let drawn = statuses(&first, 4000)
        #expect(drawn == statuses(&again, 4000))
        #expect((900...1100).contains(drawn.compactMap(\.self).count))
        var other = try script(#"{"when":{"share":0.25,"seed":8},"do":{"status":500}}"#)
        #expect(drawn != statuses(&other, 4000))
    }

    @Test func `a rule's rate is counted separately for each device token`() throws {
        var script = try script(#"{"when":{"above":{"count":2,"seconds":10}},"do":{"status":429}}"#)
        func status(_ token: String, _ now: Int64) -> Int? {
            script.conduct(for: facts(token), at: now).answer?.status
        }
        #expect([status("ab", 0), status("ab", 1), status("ab", 2)] == [nil, nil, 429])
        #expect(status("cd", 3) == nil)
        #expect(status("ab", 10_000) == nil)
    }

    @Test func `the number of errors on a connection is a condition`() throws {
        var script = try script(#"{"when":{"errors":2},"do":{"goaway":{"reason":"Shutdown"}}}"#)
        #expect(script.conduct(for: facts(errors: 1), at: 0).goAway == nil)
        #expect(script.conduct(for: facts(errors: 2), at: 0).goAway?.reason == "Shutdown")
    }

    @Test func `each setting comes from the first rule that applies to the request and has the setting`() throws {
        var script = try script(
            #"{"do":{"latency":[5,9],"early":false}}"#, #"{"when":{"nth":1},"do":{"silence":true}}"#,
            #"{"do":{"status":500,"latency":1,"early":true}}"#)
        let first = script.conduct(for: facts(), at: 0)
        #expect(first.ending == .silence)
        #expect(first.answer == nil)
        #expect(first.latencyMilliseconds == 5...9)
        #expect(first.isEarly == false)
        #expect(script.conduct(for: facts(), at: 0).answer?.status == 500)
    }

    @Test func `lines may end with CRLF, and drop: false has no effect beside silence: true`() throws {
        var script = try script(
            "# first", "", #"{"when":{"nth":1},"do":{"status":500}}"#, #"{"do":{"silence":true,"drop":false}}"#, "",
            lineEnd: "\r\n")
        #expect(script.conduct(for: facts(), at: 0).answer?.status == 500)
        #expect(script.conduct(for: facts(), at: 0).ending == .silence)
    }

    @Test func `resets, drops, GOAWAY frames and stream limits in a script are read`() throws {
        var script = try script(
            #"{"when":{"nth":1},"do":{"reset":"REFUSED_STREAM"}}"#, #"{"when":{"nth":2},"do":{"drop":true}}"#,
            #"{"when":{"nth":3},"do":{"goaway":{"twice":true,"lastStream":"before","text":"bye","close":false}}}"#,
            #"{"when":{"nth":4},"do":{"streams":3,"early":true}}"#)
        #expect(script.conduct(for: facts(), at: 0).ending == .reset(.refusedStream))
        #expect(script.conduct(for: facts(), at: 0).ending == .drop)
        let goAway = script.conduct(for: facts(), at: 0).goAway
        #expect(goAway?.isSentTwice == true && goAway?.lastStream == .before && goAway?.closes == false)
        #expect(goAway?.text == "bye")
        let last = script.conduct(for: facts(), at: 0)
        #expect(last.streams == 3 && last.isEarly == true)
    }

    @Test(arguments: [
        (#"{"do":{"status":500}}x"#, "script:2: the line cannot be read as JSON: "),
        (#"{"when":{}}"#, "script:2: a rule needs \"do\""),
        (#"{"when":{"tokn":"ab"},"do":{}}"#, #"script:2: when: unknown key "tokn"; did you mean "token"?"#),
        (#"{"do":{"status":99}}"#, "script:2: do.status: expected a whole number from 200 to 599"),
        (#"{"do":{"reset":"NOPE"}}"#, "script:2: do.reset: expected one of NO_ERROR, "),
        (#"{"when":{"share":2},"do":{}}"#, "script:2: when.share: expected a number from 0 to 1"),
        (
            #"{"quirks":{"tokens":"soft"}}"#,
            #"script:2: quirks.tokens: expected one of strict, lenient, found "soft""#
        ),
        (#"{"do":{"status":1,"status":2}}"#, "script:2: the line cannot be read as JSON: "),
        (
            #"{"do":{"silence":true,"reset":"CANCEL"}}"#,
            #"script:2: do.reset: contradicts "silence": give one of them"#
        ),
        (#"{"do":{"status":410,"drop":true}}"#, #"script:2: do.drop: contradicts "status": give one of them"#),
    ])
    func `an error in a script is reported with its line and key`(line: String, message: String) {
        let error = #expect(throws: LineError.self) { try LineFile.script("# a script\n\(line)", name: "script") }
        #expect(error?.description.hasPrefix(message) == true, "\(error?.description ?? "")")
    }
}

struct StreamAllowanceTests {
    @Test func `a client with tokens has one stream until its first valid token`() {
        var allowance = StreamAllowance(full: 1000, hasCertificate: false)
        #expect(allowance.announced == 1)
        #expect(allowance.answered(status: 403, isAuthenticated: false, fallsAfterError: false) == nil)
        #expect(allowance.answered(status: 400, isAuthenticated: true, fallsAfterError: false) == 1000)
        #expect(allowance.answered(status: 200, isAuthenticated: true, fallsAfterError: false) == nil)
    }

    @Test func `a client with a certificate has all streams from the start`() {
        #expect(StreamAllowance(full: 10, hasCertificate: true).announced == 10)
    }

    @Test func `with the quirk fallAfterError, a client has one stream from a 4xx other than 410 until a success`() {
        var allowance = StreamAllowance(full: 10, hasCertificate: true)
        #expect(allowance.answered(status: 410, isAuthenticated: true, fallsAfterError: true) == nil)
        #expect(allowance.answered(status: 400, isAuthenticated: true, fallsAfterError: true) == 1)
        #expect(allowance.answered(status: 500, isAuthenticated: true, fallsAfterError: true) == nil)
        #expect(allowance.answered(status: 200, isAuthenticated: true, fallsAfterError: true) == 10)
    }

    @Test func `the number of streams can shrink and grow`() {
        var allowance = StreamAllowance(full: 10, hasCertificate: true)
        #expect(allowance.set(3) == 3)
        #expect(allowance.set(3) == nil)
        #expect(allowance.set(50) == 50)
        var unauthenticated = StreamAllowance(full: 10, hasCertificate: false)
        #expect(unauthenticated.set(50) == nil)
        #expect(unauthenticated.set(0) == 0)
    }
}
