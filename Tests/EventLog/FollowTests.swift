import Dispatch
import EventLog
import Testing

@Suite struct FollowTests {
    @Test(.timeLimit(.minutes(5)))
    func `a follower sees every event once and in order across segments`() async throws {
        let scratch = Scratch()
        let (total, directory) = (20_000, scratch.log)
        async let seen = onThread { try follow(directory, until: total) }
        let writer = try scratch.writer(segmentBytesMax: 3000)
        var number = 0
        while number < total {
            let events = (0..<min(number % 7, total - number)).map { event(number + $0) }
            number += events.count
            try writer.append(events.isEmpty ? [event(number)] : events)
            if events.isEmpty { number += 1 }
        }
        try writer.close()
        #expect(try await seen == (0..<total).map { event($0) })
        #expect(try scratch.segments.count > 100)
    }

    private func follow(_ directory: String, until total: Int) throws -> [String] {
        let reader = try EventLogReader(directory: directory, from: .sequence(1))
        var events: [String] = []
        while events.count < total {
            if let batch = try reader.next() {
                events += batch.events
            } else {
                _ = try reader.waitForMore()
            }
        }
        return events
    }

    @Test(.timeLimit(.minutes(5)))
    func `a follower waits for a log that does not exist yet`() async throws {
        let scratch = Scratch()
        let directory = scratch.path + "/deeper/logs/matches"
        let looked = DispatchSemaphore(value: 0)
        async let first = onThread {
            let reader = try EventLogReader(directory: directory, from: .end)
            while true {
                if let batch = try reader.next() { return batch.events }
                looked.signal()
                _ = try reader.waitForMore()
            }
        }
        try await onThread { looked.wait() }
        var options = scratch.options()
        options.directory = scratch.path + "/deeper/logs"
        let writer = try EventLogWriter(options)
        try writer.append([event(1)])
        #expect(try await first == [event(1)])
    }

    @Test func `a wait ends at its timeout and misses no event`() throws {
        let scratch = Scratch()
        let writer = try scratch.writer()
        let reader = try EventLogReader(directory: scratch.log, from: .end)
        #expect(try reader.waitForMore(timeout: .zero), "the first wait did not report possible batches")
        #expect(try reader.next() == nil)
        #expect(try !reader.waitForMore(timeout: .milliseconds(2)))
        try writer.append([event(1)])
        #expect(try reader.waitForMore(timeout: nil), "the event before the wait was missed")
        #expect(try reader.next()?.events == [event(1)])
        #expect(try !reader.waitForMore(timeout: .zero))
    }
}

/// Runs blocking work on its own thread.
func onThread<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
        DispatchQueue(label: "test").async { continuation.resume(with: Result(catching: body)) }
    }
}
