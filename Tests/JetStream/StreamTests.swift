import Glibc
import JSON
import NATS
import TestSupport
import Testing

@testable import JetStream

@Suite(.serialized, .enabled(if: NATSServers.areTested, NATSServers.missing)) struct StreamTests {
    @Test func `a stream has the settings with which it was made`() throws {
        let stream = try TestStream { ($0.note, $0.bytesMax) = ("log 7, \"quoted\"", 1_000_000) }
        var settings = StreamSettings(stream.name, subjects: ["belfry.log.>"])
        (settings.note, settings.bytesMax) = ("log 7, \"quoted\"", 1_000_000)
        let info = try stream.info
        #expect(info.settings == settings && info.first == 1 && info.last == 0 && info.messages == 0)
        #expect(info.isFromLeader && info.leader == nil && info.others == [])
        #expect(try stream.jetStream.create(settings) == info)
        try stream.append("a")
        #expect(try stream.info.last == 1)
        settings.bytesMax = 2_000_000
        #expect(try stream.jetStream.update(settings).settings == settings)
        try stream.jetStream.delete(stream.name)
        let error = try #require(throws: JetStreamError.self) { try stream.info }
        #expect(error.isStreamNotFound && !error.isTemporary)
    }

    @Test func `what JetStream refuses is an error with its number and a hint`() throws {
        let stream = try TestStream()
        func refusal(_ settings: StreamSettings) throws -> (code: Int, text: String) {
            let error = try #require(throws: JetStreamError.self) { try stream.jetStream.create(settings) }
            guard case .refused(_, _, let refusal) = error else { return (0, "\(error)") }
            return (refusal.code, "\(error)")
        }
        var settings = StreamSettings(stream.name, subjects: ["belfry.log.>"])
        settings.bytesMax = 5
        #expect(try refusal(settings).code == JetStreamRefusal.Code.nameInUse)
        settings = StreamSettings(try StreamName("other"), subjects: ["belfry.log.batch"])
        #expect(try refusal(settings).code == 10065)
        settings.subjects = ["a b"]
        #expect(try refusal(settings).code == 10052)
        settings.subjects = ["a"]
        settings.replicas = 3
        let (code, text) = try refusal(settings)
        #expect(code == JetStreamRefusal.Code.replicasNotSupported)
        #expect(text.hasSuffix("(10074); connect to a cluster, or ask for one replica"))
    }

    @Test(arguments: ["", "a.b", "a b", "a*", ">", "a/b", "a\\b", "ä", "a\r\nb", String(repeating: "n", count: 256)])
    func `a name that JetStream cannot have is refused before it is sent`(name: String) {
        #expect(throws: JetStreamError.invalidName(name)) { try StreamName(name) }
    }

    @Test func `a name of 255 characters is allowed`() throws {
        let name = String(repeating: "n", count: 200) + String(repeating: "-_Z9a", count: 11)
        let stream = try TestStream(nil, name)
        #expect(try stream.info.settings.name.text == name)
    }

    @Test func `without JetStream on the servers a request has no responder`() throws {
        let servers = try NATSServers(hasJetStream: false)
        let jetStream = JetStream(try NATSConnection(servers.addresses))
        let name = try StreamName("log")
        let error = try #require(throws: JetStreamError.self) { try jetStream.info(name) }
        guard case .unanswered(_, _, .noResponders) = error else {
            Issue.record("\(error)")
            return
        }
    }

    @Test func `a message is read with its headers and all its bytes`() throws {
        let stream = try TestStream()
        let bytes = [UInt8](0...255) + [UInt8](repeating: 7, count: 4_000_000)
        let headers = [NATSHeader("A", "b: c"), NATSHeader("Belfry-Writer", "a 1 f")]
        let message = NATSMessage(stream.subject, headers: headers, body: bytes)
        _ = try stream.jetStream.connection.request(message, atMost: testLimit)
        var stored = try #require(try stream.jetStream.message(1, of: stream.name))
        stored.headers.sort { $0.name < $1.name }
        #expect(stored == StoredMessage(1, stream.subject, headers: headers, body: bytes))
        #expect(try stream.jetStream.message(2, of: stream.name) == nil)
        try stream.append("")
        #expect(try stream.jetStream.message(2, of: stream.name) == StoredMessage(2, stream.subject))
        #expect(try stream.all().map(\.body) == [bytes, []])
    }

    @Test func `a full stream refuses messages and keeps what it has`() throws {
        let stream = try TestStream { $0.bytesMax = 2000 }
        try stream.append(String(repeating: "a", count: 1500))
        let answer = try stream.jetStream.connection.request(
            stream.message(String(repeating: "b", count: 1500)), atMost: testLimit)
        #expect(answer.text.contains("maximum bytes exceeded"))
        #expect(try stream.info.messages == 1)
    }

    @Test func `a purge removes the messages before a sequence, and the sequences go on`() throws {
        let stream = try TestStream()
        for number in 1...10 { try stream.append("\(number)") }
        for nothing in [0, 1] as [UInt64] { #expect(try stream.jetStream.purge(stream.name, before: nothing) == 0) }
        #expect(try stream.jetStream.purge(stream.name, before: 5) == 4)
        #expect(try stream.info.first == 5)
        #expect(try stream.jetStream.message(4, of: stream.name) == nil)
        #expect(try stream.jetStream.purge(stream.name, before: 11) == 6)
        let info = try stream.info
        #expect(info.first == 11 && info.last == 10 && info.messages == 0)
        try stream.append("11")
        #expect(try stream.texts() == ["11"])
    }

    @Test func `the leader and the replicas of a stream in a cluster are known`() throws {
        let servers = try NATSServers(3)
        let stream = try TestStream(servers, replicas: 3)
        for number in 1...3 { try stream.append("\(number)") }
        let info = try stream.info
        let leader = try #require(info.leader)
        #expect(Set(info.others.map(\.server) + [leader]) == ["n1", "n2", "n3"])
        try stream.jetStream.stepDown(stream.name)
        try wait { try retry { try stream.info }.leader != leader }
        #expect(try retry { try stream.texts() } == ["1", "2", "3"])
        let single = try TestStream(servers, "single")
        let one = try single.info
        #expect(one.isFromLeader && one.leader != nil && one.others == [])
    }

    /// A leader notices after 10 seconds or more that it has lost its majority.
    @Test(.full) func `without a majority the state of a stream is refused, unless any state will do`() throws {
        let stream = try TestStream(NATSServers(3), replicas: 3)
        for number in 1...3 { try stream.append("\(number)") }
        let others = try stream.info.others.compactMap { NATSServers.index(of: $0.server) }
        for index in others { stream.servers.end(index, with: SIGKILL) }
        try wait(atMost: .seconds(60)) {
            do {
                _ = try stream.info
                return false
            } catch JetStreamError.withoutLeader { return true } catch let error as JetStreamError {
                if !error.isTemporary { throw error }
                return false
            }
        }
        #expect(try stream.jetStream.anyInfo(stream.name).last == 3)
    }
}

@Suite struct StreamAnswerTests {
    @Test(arguments: [
        (10023, "insufficient resources", true, false), (10077, "maximum bytes exceeded", true, false),
        (10077, "write n1.blk: no space left on device", true, false), (10077, "checksum mismatch", false, false),
        (10047, "insufficient storage resources available", true, false),
        (10008, "JetStream system temporarily unavailable", false, true), (10118, "stream is offline", false, true),
        (10059, "stream not found", false, false), (10071, "wrong last sequence: 5", false, false),
    ])
    func `a refusal's number and text say whether the disk is full or the quorum is missing`(
        code: Int, text: String, isDiskFull: Bool, isNoQuorum: Bool
    ) {
        let refusal = JetStreamRefusal(code: code, text: text)
        #expect(refusal.isDiskFull == isDiskFull && refusal.isNoQuorum == isNoQuorum)
    }

    /// Answers of nats-server 2.9.10 to STREAM.INFO, cut to what is read.
    @Test(arguments: [
        (1, "", true), (3, "", false), (3, #","cluster":{"name":"lab","leader":"n1","replicas":[]}"#, true),
        (1, #","cluster":{"name":"lab","leader":"n1"}"#, true), (1, #","cluster":{"name":"lab"}"#, false),
        (3, #","cluster":{"name":"lab","replicas":[{"name":"n1","current":false,"lag":17}]}"#, false),
    ])
    func `the leader's answer names a leader, or comes from a server outside a cluster with the only replica`(
        replicas: Int, cluster: String, isFromLeader: Bool
    ) throws {
        let config = #"{"config":{"name":"log","num_replicas":\#(replicas)},"#
        let bytes = ascii(config + #""state":{"messages":2,"first_seq":5,"last_seq":6}"# + cluster + "}")
        var parser = JSONParser()
        let info = try bytes.withUnsafeBytes { StreamInfo(try parser.parse($0)) }
        #expect(info?.isFromLeader == isFromLeader && info?.first == 5 && info?.last == 6)
    }

    @Test(arguments: ["a 1 f", "host.example.com 2147483647 ffffffffffffffff"])
    func `a writer's name is read as it is written`(text: String) throws {
        #expect("\(try #require(WriterName(text)))" == text)
    }

    @Test(arguments: [
        "", "a", "a 1", "a 1 f x", " 1 f", "a  f", "a 1 g", "a 99999999999 f", "ä 1 f", "a 1 fffffffffffffffff",
    ])
    func `a malformed name of a writer is not read`(text: String) { #expect(WriterName(text) == nil) }
}
