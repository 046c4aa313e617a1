import Dispatch
import HTTPServer
import RecordStore
import Synchronization
import TestSupport
import Testing

@testable import WebServices

@Suite("The threads of reads", .timeLimit(.minutes(1)))
struct ReadThreadsTests {
    private static let (alice, bob) = (Reader.user("_alice", container: "c"), Reader.user("_bob", container: "c"))

    /// Jobs that wait until the test lets them end.
    private final class HeldJobs: Sendable {
        let begun = AsyncStream<Int>.makeStream()
        private let release = DispatchSemaphore(value: 0)

        func job(_ number: Int) {
            begun.continuation.yield(number)
            release.wait()
        }

        /// Returns when this many jobs have begun.
        func waitForJobs(_ count: Int) async {
            var iterator = begun.stream.makeAsyncIterator()
            for _ in 0..<count { _ = await iterator.next() }
        }

        func endJobs(_ count: Int) { for _ in 0..<count { release.signal() } }
    }

    @Test func `a reader with many long reads does not keep another reader waiting`() async throws {
        let (threads, held) = (ReadThreads(), HeldJobs())
        try await withThrowingTaskGroup { group in
            for number in 0..<20 {
                group.addTask { try await threads.run(for: Self.alice) { _ in held.job(number) } }
            }
            await held.waitForJobs(ReadThreads.countForOneReader)
            for number in 0..<50 { #expect(try await threads.run(for: Self.bob) { _ in number } == number) }
            held.endJobs(20)
            try await group.waitForAll()
        }
    }

    @Test func `a read behind a long read takes another thread`() async throws {
        let (threads, held) = (ReadThreads(), HeldJobs())
        async let long: Void = threads.run(for: Self.alice) { _ in held.job(0) }
        await held.waitForJobs(1)
        for number in 0..<50 { #expect(try await threads.run(for: Self.alice) { _ in number } == number) }
        held.endJobs(1)
        try await long
    }

    @Test(arguments: [
        (gone: false, after: Duration.seconds(9), stop: nil as ReadStop?),
        (false, .seconds(10), .tookTooLong), (true, .milliseconds(100), nil), (true, .seconds(1), .cancelled),
    ])
    func `a read ends when it takes too long, and soon if its client has gone`(
        gone: Bool, after: Duration, stop: ReadStop?
    ) async throws {
        let clock = ReadClock()
        let threads = ReadThreads { clock.now() }
        let client = Mutex<(@Sendable () -> Void)?>(nil)
        let found = try await threads.run(
            for: Self.alice, whenClientIsGone: { action in client.withLock { $0 = action } },
            { limit in
                if gone { client.withLock(\.self)?() }
                clock.advance(by: after)
                return limit.stop()
            })
        #expect(found == stop)
    }

    @Test func `a stop ends long reads and refuses later ones`() async throws {
        let clock = ReadClock()
        let threads = ReadThreads { clock.now() }
        let found = try await threads.run(for: Self.alice) { limit in
            threads.stop(within: .seconds(2))
            clock.advance(by: .seconds(1))
            let early = limit.stop()
            threads.stop(within: .seconds(2))
            clock.advance(by: .seconds(1))
            return [early, limit.stop()]
        }
        #expect(found == [nil, .cancelled])
        await #expect(throws: ServiceError(.cancelled)) { try await threads.run(for: Self.bob) { _ in } }
    }

    @Test func `an error of a read is thrown, and its thread is free again`() async throws {
        let threads = ReadThreads()
        for _ in 0..<(2 * ReadThreads.count) {
            await #expect(throws: ServiceError.bad("no")) {
                try await threads.run(for: Self.alice) { _ throws(ServiceError) in throw .bad("no") }
            }
        }
    }

    @Test func `readers take turns, and the reads of one reader begin in their order`() {
        var queue = ReadQueue<String>(runningMax: 2)
        for number in 1...4 { queue.add("a\(number)", of: Self.alice) }
        queue.add("b1", of: Self.bob)
        queue.add("c1", of: .client(ClientNetwork("c")))
        queue.add("b2", of: Self.bob)
        var begun: [String] = []
        while let (job, _) = queue.next() { begun.append(job) }
        #expect(begun == ["a1", "b1", "c1", "a2", "b2"])
        queue.end(of: Self.bob)
        #expect(queue.next() == nil)
        queue.end(of: Self.alice)
        #expect(queue.next()?.job == "a3")
        #expect(queue.next() == nil)
        queue.end(of: Self.alice)
        #expect(queue.next()?.job == "a4")
    }

    /// Simulates the threads of the gateway: a free thread takes the next job of the queue.
    @Test(arguments: Seeded.seeds)
    func `every read begins once, and no thread is idle while a read may begin`(seed: UInt64) {
        var random = Seeded(seed)
        var queue = ReadQueue<Int>(runningMax: ReadThreads.countForOneReader)
        var (waiting, running): ([Int: Int], [(number: Int, reader: Reader)]) = ([:], [])
        func reader(_ number: Int) -> Reader { .client(ClientNetwork("\(number)")) }
        for number in 0..<5_000 {
            if random.isOneIn(2) {
                let owner = random.below(6)
                queue.add(number, of: reader(owner))
                waiting[number] = owner
            } else if !running.isEmpty {
                queue.end(of: running.remove(at: random.below(running.count)).reader)
            }
            while running.count < ReadThreads.count, let (job, owner) = queue.next() {
                #expect(waiting.removeValue(forKey: job).map(reader) == owner)
                running.append((job, owner))
            }
            let mayBegin = waiting.values.contains { owner in
                running.count { $0.reader == reader(owner) } < ReadThreads.countForOneReader
            }
            #expect(running.count == ReadThreads.count || !mayBegin, "seed \(seed)")
        }
    }
}
