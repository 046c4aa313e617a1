import EventLog
import Foundation
import JetStream
import NATS
import TestSupport
import Testing
import Time

@testable import JetStreamHome

@Suite(.serialized, .enabled(if: NATSServers.areTested, NATSServers.missing), .timeLimit(.minutes(3)))
struct JetStreamHomeTests {
    @Test func `a host with an empty folder continues a log exactly where its last owner stopped`() throws {
        let test = try TestHome()
        let first = try test.writer("a")
        for number in 1...300 {
            try first.append(number)
            if number % 25 == 0 { try first.flush() }
        }
        try first.flush()
        #expect(first.durableSequence == 300)
        let second = try test.writer("b")
        #expect(second.lastSequence == 300 && second.identity == first.identity && second.cursor == first.cursor)
        #expect(try test.segments("a") == test.segments("b") && test.segments("a").count > 1)
        try second.append(301)
        try second.flush()

        try first.append(999)
        let replaced = #expect(throws: EventLogError.self) { try first.flush() }
        guard case .replaced(log: "changes", let reason) = replaced else {
            Issue.record("the first host was not replaced: \(String(describing: replaced))")
            return
        }
        #expect(reason.contains("writer b "))
        #expect(first.durableSequence == 300)
        #expect(try test.events("b").count == 301)
    }

    @Test func `batches and groups larger than one megabyte are stored whole`() throws {
        let test = try TestHome()
        let first = try test.writer("a")
        let large = String(repeating: "x", count: 1_900_000)
        for number in 1...3 { try first.append(number, padding: large) }
        for number in 4...40 { try first.append(number, padding: String(large.prefix(100_000))) }
        try first.flush()
        let second = try test.writer("b")
        #expect(second.lastSequence == 40)
        #expect(try test.segments("a") == test.segments("b"))
        let tooLarge = [String](repeating: #"{"p":"\#(large)"}"#, count: 4).map { $0 + "\n" }.joined()
        #expect(
            throws: EventLogError.tooLarge("a batch", bytes: tooLarge.utf8.count, bytesMax: HomeMessage.batchBytesMax)
        ) {
            try second.append(lines: tooLarge, count: 4)
        }
        try second.append(41)
        try second.flush()
    }

    @Test func `a log waits while no server is there, and continues by itself`() throws {
        let test = try TestHome()
        let delays = Delays()
        let writer = try EventLogWriter(try test.options("a", home: try test.home("a", say: { delays.add($0) })))
        try writer.append(1)
        try writer.flush()
        test.servers.end(0, with: SIGKILL)
        try writer.append(2)
        usleep(500_000)
        #expect(writer.durableSequence == 1)
        try test.servers.start(0)
        try writer.flush()
        #expect(writer.durableSequence == 2)
        #expect(delays.all.contains { $0.hasPrefix("changes: there is no connection to a NATS server") })
        #expect(delays.all.last == "changes: stored again")
    }

    @Test func `a stop does not wait for servers that are gone`() throws {
        let test = try TestHome()
        let home = try test.home("a")
        let writer = try EventLogWriter(try test.options("a", home: home))
        try writer.append(1)
        try writer.flush()
        test.servers.end(0, with: SIGKILL)
        try writer.append(2)
        home.interrupt()
        #expect(throws: EventLogError.self) { try writer.close() }
        try test.servers.start(0)
        try test.servers.waitUntilUp(0)
        let again = try test.writer("a")
        #expect(again.lastSequence == 1 && again.recovery?.reason == "the home of the log had not stored these events")
    }

    // MARK: Retention and snapshots

    @Test func `a trim removes whole messages, and another host continues from what is left`() throws {
        let test = try TestHome()
        let first = try test.writer("a")
        for number in 1...400 {
            try first.append(number, padding: String(repeating: "x", count: 100))
            if number % 3 == 0 { try first.flush() }
        }
        try first.flush()
        let (jetStream, name) = (try test.jetStream(), try HomeName(pipeline: "notes", log: "changes"))
        let whole = try jetStream.info(name.stream)
        let removed = try first.trim(before: 250)
        let start = try #require(removed.last).lastSequence + 1
        let trimmed = try jetStream.info(name.stream)
        #expect(trimmed.first > 1 && trimmed.messages < whole.messages)
        try first.append(401)
        try first.close()
        let second = try test.writer("b")
        #expect(second.lastSequence == 401 && second.cursor == first.cursor)
        #expect(try test.events("a") == test.events("b"))
        #expect(try EventLogs.missingStart(directory: test.folder.file("b") + "/changes") == nil)
        #expect(try #require(try second.segments().first).firstSequence == start)
    }

    @Test func `a host that stopped before the events that were removed is told to fill its folder again`() throws {
        let test = try TestHome()
        let first = try test.writer("a")
        try first.append(1)
        try first.close()
        let second = try test.writer("b")
        for number in 2...400 {
            try second.append(number, padding: String(repeating: "x", count: 100))
            try second.flush()
        }
        try second.trim(before: 300)
        try second.close()
        let error = #expect(throws: EventLogError.self) { try test.writer("a") }
        #expect("\(try #require(error))".contains("move this folder away, and it is filled again from the servers"))
        #expect(try test.events("a").count == 1)
    }

    @Test func `the two newest snapshots are stored in parts, and other hosts get them`() throws {
        let test = try TestHome()
        let first = try test.writer("a")
        try first.append(1)
        try first.flush()
        let sizes: [UInt64: Int] = [1: 700_000, 2: 10, 3: 1_600_000]
        let files = try (1...3 as ClosedRange<UInt64>).map { position in
            try test.snapshot("a", of: first, position, bytes: sizes[position] ?? 0)
        }
        for file in files { try first.keepInHome(file) }
        let (jetStream, name) = (try test.jetStream(), try HomeName(pipeline: "notes", log: "changes").snapshots)
        let info = try jetStream.info(name.stream)
        // One part and a list for the second snapshot, four parts and a list for the third.
        #expect(info.messages == 7 && info.first == 4)
        try first.close()
        let second = try test.writer("b")
        let filled = try test.snapshots("b")
        #expect(filled.map(\.name) == files.suffix(2).map(\.name))
        for (mine, theirs) in zip(filled, files.suffix(2)) {
            let isSame = FileManager.default.contentsEqual(atPath: mine.path, andPath: theirs.path)
            #expect(isSame, "\(mine.name)")
        }
        #expect(try second.snapshotsInHome() == Set(files.suffix(2).map(\.name)))
    }

    @Test func `parts that no list names are passed over`() throws {
        let test = try TestHome()
        let first = try test.writer("a")
        try first.append(1)
        try first.flush()
        let file = try test.snapshot("a", of: first, 1, bytes: 100)
        try first.keepInHome(file)
        try first.close()
        // As after a crash before the list.
        _ = try test.jetStream().connection.request(
            NATSMessage("belfry.notes.changes.snapshots.part", body: [1, 2, 3]), atMost: .seconds(5))
        let second = try test.writer("b")
        #expect(try test.snapshots("b").map(\.name) == [file.name])
        let third = try test.snapshot("b", of: second, 2, bytes: 200)
        try second.keepInHome(third)
        #expect(try second.snapshotsInHome() == [file.name, third.name])
        // The first host has been replaced, but a snapshot of what it had stored may still be kept, or refused.
        do { try first.keepInHome(file) } catch {}
        try second.close()
        _ = try test.writer("c")
        #expect(try test.snapshots("c").map(\.name).contains(file.name))
        #expect(try test.snapshots("c").allSatisfy { $0.header != nil })
    }

    @Test func `a list of snapshots, a part or a stream that is not Belfry's is refused, with advice`() throws {
        let name = "00000000000000000001-00000000000000000002.snapshot"
        for (subject, body, expected) in [
            ("list", #"{"snapshots":[{"name":"x"}]}"#, "is not a list by Belfry"),
            ("list", #"{"snapshots":[{"name":"x","bytes":9,"first":2,"last":2}]}"#, "the unknown name 'x'"),
            ("list", #"{"snapshots":[{"name":"\#(name)","bytes":9,"first":2,"last":2}]}"#, "is not a part of"),
            ("list", #"{"snapshots":[{"name":"\#(name)","bytes":9,"first":1,"last":1}]}"#, "bytes instead of 9"),
            ("part", "12345", ""),
        ] {
            let test = try TestHome()
            let first = try test.writer("a")
            try first.append(1)
            try first.flush()
            try first.keepInHome(try test.snapshot("a", of: first, 1, bytes: 9))
            try first.close()
            let jetStream = try test.jetStream()
            let stream = try HomeName(pipeline: "notes", log: "changes").snapshots.stream
            _ = try jetStream.connection.request(
                NATSMessage("belfry.notes.changes.snapshots.\(subject)", body: Array(body.utf8)), atMost: .seconds(5))
            guard !expected.isEmpty else {
                _ = try test.writer("b")
                continue
            }
            let error = #expect(throws: EventLogError.self) { try test.writer("b") }
            #expect("\(try #require(error))".contains(expected))
            let hasAdvice = "\(try #require(error))".contains("remove the stream with 'nats stream rm \(stream)'")
            #expect(hasAdvice != expected.hasPrefix("the unknown name"))
            try jetStream.delete(stream)
            #expect(try test.writer("b").lastSequence == 1)
        }
    }

    @Test func `snapshots of another log are refused`() throws {
        let test = try TestHome()
        let first = try test.writer("a")
        try first.append(1)
        try first.flush()
        try first.keepInHome(try test.snapshot("a", of: first, 1, bytes: 9))
        try first.close()
        try test.jetStream().delete(try HomeName(pipeline: "notes", log: "changes").stream)
        let error = #expect(throws: EventLogError.self) { try test.writer("b") }
        #expect("\(try #require(error))".contains("has snapshots of log \(first.identity)"))
    }

    // MARK: Damage below

    @Test func `a stream that was cut short is refused, with the sequences`() throws {
        let test = try TestHome()
        let writer = try test.writer("a")
        for number in 1...3 {
            try writer.append(number)
            try writer.flush()
        }
        try writer.close()
        let jetStream = try test.jetStream()
        let name = try HomeName(pipeline: "notes", log: "changes")
        let messages = try (1...3).map { try #require(try jetStream.message($0, of: name.stream)) }
        let settings = try jetStream.info(name.stream).settings
        try jetStream.delete(name.stream)
        try jetStream.create(settings)
        for message in messages {
            let copy = NATSMessage(
                message.subject, headers: message.headers.filter { $0.name == "Belfry-Writer" }, body: message.body)
            _ = try jetStream.connection.request(copy, atMost: .seconds(5))
        }
        #expect(
            throws: EventLogError.unusableHome(
                log: "changes",
                reason:
                    "JetStream: stream belfry__notes__changes ends with message 3, although its servers acknowledged 4: "
                    + "messages from 4 on are lost; on the machine that wrote the log last, "
                    + "'belfry log repair changes -p FILE' shows whether the local files have them")
        ) { try test.writer("a") }
        #expect(try test.events("a").count == 3)

        var repair: HomeRepair? = try HomeRepair(
            directory: test.folder.file("a") + "/changes", home: try test.home("a"))
        #expect(repair?.finding == .lostEnd(last: 2))
        try repair?.apply()
        repair = nil
        let again = try test.writer("a")
        #expect(again.recovery == nil)
        try again.append(4)
        try again.close()
        #expect(try test.writer("b").lastSequence == 4)
        #expect(try test.events("a") == test.events("b"))
    }

    @Test func `a repair stores a log in a new stream if its stream is damaged or was deleted`() throws {
        let test = try TestHome()
        let writer = try test.writer("a")
        for number in 1...3 { try writer.append(number) }
        try writer.close()
        let directory = test.folder.file("a") + "/changes"
        let (jetStream, name) = (try test.jetStream(), try HomeName(pipeline: "notes", log: "changes"))
        _ = try jetStream.connection.request(NATSMessage(name.batches, body: [1, 2, 3]), atMost: .seconds(5))
        var repair: HomeRepair? = try HomeRepair(directory: directory, home: try test.home("a"))
        guard case .damaged(let reason)? = repair?.finding else {
            Issue.record("the finding is \(String(describing: repair?.finding))")
            return
        }
        #expect(reason.hasSuffix(" of stream belfry__notes__changes was not written by Belfry"))
        try repair?.apply()
        repair = nil
        #expect(throws: JetStreamError.self) { try jetStream.info(name.stream) }
        try test.writer("a").close()
        #expect(try HomeRepair(directory: directory, home: try test.home("a")).finding == .complete)

        try jetStream.delete(name.stream)
        repair = try HomeRepair(directory: directory, home: try test.home("a"))
        #expect(repair?.finding == .missing)
        #expect(throws: JetStreamError.self) { try jetStream.info(name.stream) }
        try repair?.apply()
        repair = nil
        try test.writer("a").close()
        #expect(try test.writer("b").lastSequence == 3)
    }

    @Test func `a message that Belfry did not write is refused`() throws {
        let test = try TestHome()
        try test.writer("a").close()
        let jetStream = try test.jetStream()
        _ = try jetStream.connection.request(
            NATSMessage("belfry.notes.changes.batches", body: Array("hello".utf8)), atMost: .seconds(5))
        #expect(
            throws: EventLogError.unusableHome(
                log: "changes", reason: "message 2 of stream belfry__notes__changes was not written by Belfry")
        ) { try test.writer("b") }
    }

    // MARK: Set-up

    @Test(arguments: [("64KB", "max_payload: 8MB"), ("1MB", "max_payload: 8MB")])
    func `a server with a small max_payload is refused, with the line to write`(limit: String, advice: String) throws {
        let test = try TestHome(configuration: "max_payload: \(limit)")
        let error = #expect(throws: EventLogError.self) { try test.writer("a") }
        #expect("\(String(describing: error))".contains(advice))
    }

    @Test func `too few servers, a stream of another pipeline and other replicas are refused`() throws {
        let test = try TestHome()
        let few = #expect(throws: EventLogError.self) {
            try EventLogWriter(test.options("a", home: try test.home("a", replicas: 3, openTimeout: .seconds(1))))
        }
        #expect("\(try #require(few))".contains("connect to a cluster, or ask for one replica"))
        guard case .unusableHome? = few else {
            Issue.record("a stage would try again: \(String(describing: few))")
            return
        }
        let jetStream = try test.jetStream()
        let name = try HomeName(pipeline: "notes", log: "changes")
        try jetStream.create(StreamSettings(name.stream, subjects: ["somebody.else"]))
        let other = #expect(throws: EventLogError.self) { try test.writer("a") }
        #expect("\(try #require(other))".contains("is not a stream of log 'changes'"))
        try jetStream.delete(name.stream)
        try test.writer("a").close()
        let replicas = #expect(throws: EventLogError.self) {
            try EventLogWriter(test.options("b", home: try test.home("b", replicas: 3)))
        }
        #expect("\(try #require(replicas))".contains("'replicas: 1'"))
        let foreign = #expect(throws: EventLogError.self) {
            var options = try test.options("c")
            options.home = nil
            try EventLogWriter(options).close()
            _ = try test.writer("c")
        }
        #expect("\(try #require(foreign))".contains("another pipeline"))
    }

    @Test func `servers without JetStream and servers that are not there are refused`() throws {
        let test = try TestHome(hasJetStream: false)
        let without = #expect(throws: EventLogError.self) {
            try EventLogWriter(test.options("a", home: try test.home("a", openTimeout: .seconds(1))))
        }
        #expect("\(try #require(without))".contains("enable JetStream in the servers' configuration"))
        test.servers.end(0, with: SIGKILL)
        let delays = Delays()
        let home = try test.home("a", openTimeout: .seconds(1), say: { delays.add($0) })
        let gone = #expect(throws: EventLogError.self) { try EventLogWriter(test.options("a", home: home)) }
        #expect("\(try #require(gone))".contains("127.0.0.1"))
        #expect(delays.all.count == 1 && delays.all[0].hasSuffix("; trying again for 1 s"), "\(delays.all)")
    }

    @Test func `a log is opened when its server starts a moment later`() throws {
        let test = try TestHome()
        test.servers.end(0, with: SIGKILL)
        Thread.detachNewThread {
            usleep(500_000)
            do { try test.servers.start(0) } catch { Issue.record(error) }
        }
        let writer = try test.writer("a")
        try writer.append(1)
        try writer.close()
        #expect(writer.lastSequence == 1)
    }

    @Test func `different names of pipelines and logs never share a stream or a subject`() throws {
        let names = ["a", "b", "a.b", "a_b", "a__b", "a-b", "a_db", "a_ub", "ä", "a b"]
        var streams: [String: String] = [:]
        for pipeline in names {
            for log in names {
                let name = try HomeName(pipeline: pipeline, log: log)
                for text in [name.stream.text] + name.subjects {
                    #expect(
                        streams.updateValue("\(pipeline) \(log)", forKey: text) == nil, "\(pipeline) \(log): \(text)")
                }
                #expect(name.subjects.allSatisfy { $0.split(separator: ".").count == 4 })
            }
        }
    }
}
