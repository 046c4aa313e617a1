import Foundation
import PipelineKit
import TestSupport
import Testing

@testable import TransportWebhook

@Suite struct WebhookCostTests {
    // The test adds up the CPU time of the threads of `HTTPSession`, not of the whole process: other tests run in this
    // process at the same time.
    @Test func `a request that waits for its answer costs little CPU time`() async throws {
        let server = TestServer { _, _ in .silence }
        defer { server.stop() }
        let rig = try await Rig(server, "timeout: 1s\nattempts: 1")
        async let delivered = rig.deliver(push(1))
        while server.requests.isEmpty { await Task.yield() }
        let before = try ticksOfSessions()
        #expect(before.isEmpty == false)
        #expect(await delivered.map(\.reason) == ["no answer within 1s"])
        let spent = try ticksOfSessions().reduce(0) { $0 + $1.value - before[$1.key, default: 0] }
        #expect(spent < 15, "of the 100 ticks in a second")
        await rig.transport.close()
    }
}

/// The processor time of each thread that drives an `HTTPSession`, in hundredths of a second.
private func ticksOfSessions() throws -> [String: Int] {
    var ticks: [String: Int] = [:]
    for thread in try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task") {
        // See proc(5): the name is in parentheses, and utime and stime are the 14th and 15th field. A thread may have
        // ended.
        guard let stat = FileManager.default.contents(atPath: "/proc/self/task/\(thread)/stat") else { continue }
        let fields = String(decoding: stat, as: UTF8.self).split(separator: " ")
        guard fields.count > 14, fields[1] == "(webhook)" else { continue }
        ticks[thread] = (Int(fields[13]) ?? 0) + (Int(fields[14]) ?? 0)
    }
    return ticks
}
