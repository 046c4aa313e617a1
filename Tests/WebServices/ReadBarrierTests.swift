import Testing

@testable import WebServices

@Suite("Reads that wait for the store")
struct ReadBarrierTests {
    private let barrier = ReadBarrier {}

    /// Starts a read. Returns once the read waits.
    private func beginRead() async -> Task<Bool, Never> {
        let barrier = barrier
        let task = Task { await barrier.pass(until: .now + .seconds(60)) }
        while barrier.count == 0 { await Task.yield() }
        return task
    }

    @Test
    func `for a read, ingest is asked for its last event, and the read passes when the store has this event`() async {
        let task = await beginRead()
        #expect(barrier.beginQuestion() == 1)
        barrier.handleAnswer(last: 5)
        barrier.applied(through: 4)
        #expect(barrier.count == 1 && barrier.lag == 1)
        barrier.applied(through: 5)
        #expect(await task.value)
    }

    @Test func `an answer to an earlier question does not let a read pass`() async {
        barrier.applied(through: 9)
        #expect(barrier.beginQuestion() == 0)
        let task = await beginRead()
        barrier.handleAnswer(last: 9)
        #expect(barrier.count == 1)
        #expect(barrier.beginQuestion() == 1)
        barrier.handleAnswer(last: 9)
        #expect(await task.value)
    }

    @Test func `a read that waits too long is refused while ingest is silent`() async {
        let task = await beginRead()
        barrier.expire(at: .now)
        #expect(barrier.count == 1)
        barrier.expire(at: .now + .seconds(61))
        #expect(await task.value == false)
    }

    @Test func `a closed barrier lets no read pass`() async {
        let task = await beginRead()
        barrier.close()
        #expect(await task.value == false)
        #expect(await barrier.pass(until: .now + .seconds(60)) == false)
    }
}
