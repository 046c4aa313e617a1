import Glibc
import NATS
import Synchronization
import TestSupport
import Testing

@testable import JetStream

/// Servers of a cluster are killed while a writer appends as fast as it can.
@Suite(.serialized, .enabled(if: NATSServers.areTested, NATSServers.missing)) struct WriterKillTests {
    /// A writer that appends messages until ``end()``, and what it stored.
    private final class Load: Sendable {
        private struct State {
            var stored: [String] = []
            var shouldEnd = false
        }

        private let state = Mutex(State())
        let delays = Delays()

        var count: Int { state.withLock { $0.stored.count } }
        var stored: [String] { state.withLock { $0.stored } }
        func end() { state.withLock { $0.shouldEnd = true } }

        /// - Returns: The error that ended the writer; nil after ``end()``.
        func run(on stream: TestStream) -> JetStreamError? {
            let writer = stream.writer("a", last: 0) { [delays] in delays.add($0) }
            while !state.withLock({ $0.shouldEnd }) {
                let text = "\(count + 1) " + String(repeating: "x", count: 2000)
                do throws(JetStreamError) {
                    let sequence = try writer.publish(stream.message(text))
                    state.withLock { $0.stored.append("\(sequence): \(text)") }
                } catch { return error }
            }
            return nil
        }
    }

    private struct Cluster {
        let servers: NATSServers
        let stream: TestStream

        init() throws {
            servers = try NATSServers(3)
            stream = try TestStream(servers, replicas: 3)
        }

        func leader() throws -> Int {
            let name = try retry { try stream.info }.leader
            return try #require(name.flatMap { NATSServers.index(of: $0) })
        }

        func restart(_ indices: [Int], after pause: Duration) throws {
            for index in indices { servers.end(index, with: SIGKILL) }
            usleep(UInt32(pause / .microseconds(1)))
            for index in indices { try servers.start(index) }
        }

        /// Waits until the writer has stored 200 more messages.
        func waitForMore(_ load: Load) throws {
            let count = load.count
            try wait(atMost: NATSServers.electionMax) { load.count > count + 200 }
        }

        /// Checks that each message that was acknowledged is there once, and nothing else, whichever server leads.
        func check(_ load: Load, leaders: Int) throws {
            var seen: Set<Int> = []
            try wait(atMost: .seconds(120)) {
                if !seen.isEmpty { try retry { try stream.jetStream.stepDown(stream.name) } }
                let leader = try leader()
                let messages = try retry { try stream.all() }
                #expect(messages.map { "\($0.sequence): \($0.text)" } == load.stored, "n\(leader + 1) leads")
                seen.insert(leader)
                return seen.count >= leaders
            }
        }
    }

    private func run(_ fault: (Cluster, Load) throws -> Void) async throws {
        let cluster = try Cluster()
        let load = Load()
        let writing = BackgroundThread { load.run(on: cluster.stream) }
        do {
            try cluster.waitForMore(load)
            for _ in 0..<Tier.value(1, full: 5) {
                try fault(cluster, load)
                try cluster.waitForMore(load)
            }
        } catch {
            load.end()
            throw error
        }
        load.end()
        #expect(await writing.value == .some(nil))
        try cluster.check(load, leaders: Tier.value(1, full: 3))
        print("\(load.count) messages stored, delays: \(load.delays.all)")
    }

    @Test func `kill -9 of the leader loses and repeats no acknowledged message`() async throws {
        try await run { cluster, load in
            let leader = try cluster.leader()
            cluster.servers.end(leader, with: SIGKILL)
            try cluster.waitForMore(load)
            try cluster.servers.start(leader)
        }
    }

    @Test func `kill -9 of two of three servers loses and repeats no acknowledged message`() async throws {
        try await run { cluster, load in
            let leader = try cluster.leader()
            try cluster.restart([leader, (leader + 1) % 3], after: .milliseconds(500))
        }
    }
}
