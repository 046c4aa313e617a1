import Glibc
import Synchronization
import Testing

@testable import ZeroMQ

@Suite struct PollerTests {
    @Test func `a poll says which of its items are ready`() throws {
        let pair = try Pair(.inproc, .pair, .pair)
        let idle = try ZMQSocket(pair.context, .pull)
        let wake = try WakeSignal()
        let poller = ZMQPoller()
        let items = (poller.add(idle), poller.add(pair.bound), poller.add(wake))
        #expect(try poller.poll(timeoutMilliseconds: 0) == 0)
        _ = try pair.connected.send([[1]])
        wake.signal()
        #expect(try poller.poll() == 2)
        #expect(poller.readiness(at: items.0) == [])
        #expect(poller.readiness(at: items.1) == .readable)
        #expect(poller.readiness(at: items.2) == .readable)
        _ = try pair.bound.next()
        wake.clear()
        #expect(try poller.poll(timeoutMilliseconds: 0) == 0)
        #expect(poller.readiness(at: items.1) == [])
    }

    @Test func `the events that a poller waits for at an item can be changed`() throws {
        let pair = try Pair()
        let poller = ZMQPoller()
        let item = poller.add(pair.bound, [.readable, .writable])
        #expect(try poller.poll() == 1)
        #expect(poller.readiness(at: item) == .writable)
        poller.setInterest(.readable, at: item)
        #expect(try poller.poll(timeoutMilliseconds: 0) == 0)
    }

    @Test func `a poll without items is an error`() throws {
        #expect(try #require(throws: ZMQError.self) { try ZMQPoller().poll() }.code == EINVAL)
    }

    @Test func `a poll reports a descriptor that is not open as failed`() throws {
        let poller = ZMQPoller()
        let item = poller.add(fileDescriptor: 1 << 20)
        #expect(try poller.poll(timeoutMilliseconds: testTimeoutMilliseconds) == 1)
        #expect(poller.readiness(at: item).contains(.failed))
    }

    @Test func `the time limit ends a poll`() throws {
        let poller = ZMQPoller()
        poller.add(try WakeSignal())
        #expect(try poller.poll(timeoutMilliseconds: 5) == 0)
    }

    @Test func `a signal from another thread wakes a poll`() async throws {
        let wake = try WakeSignal()
        let (started, start) = AsyncStream.makeStream(of: Void.self)
        async let woken = SocketThread.run(name: "sleeper") {
            let poller = ZMQPoller()
            poller.add(wake)
            start.finish()
            return try poller.poll()
        }
        for await _ in started {}
        wake.signal()
        #expect(try await woken == 1)
    }

    @Test func `a POSIX signal that interrupts a poll does not end it`() async throws {
        signal(SIGUSR1) { _ in interruptions.add(1, ordering: .relaxed) }
        let wake = try WakeSignal()
        let (threads, thread) = AsyncStream.makeStream(of: pthread_t.self)
        async let woken = SocketThread.run(name: "sleeper") {
            let poller = ZMQPoller()
            poller.add(wake)
            // A thread of Swift's pool started this thread, so this thread inherited a mask that blocks SIGUSR1.
            var signals = sigset_t()
            sigemptyset(&signals)
            sigaddset(&signals, SIGUSR1)
            pthread_sigmask(SIG_UNBLOCK, &signals, nil)
            thread.yield(pthread_self())
            thread.finish()
            return try poller.poll()
        }
        for await thread in threads {
            for count in 1...20 {
                pthread_kill(thread, SIGUSR1)
                while interruptions.load(ordering: .relaxed) < count { sched_yield() }
            }
        }
        wake.signal()
        #expect(try await woken == 1)
    }
}

private let interruptions = Atomic(0)

@Suite struct WakeSignalTests {
    @Test func `many wake signals leave one byte to read`() throws {
        let wake = try WakeSignal()
        for _ in 0..<1_000_000 { wake.signal() }
        var byte = [UInt8](repeating: 0, count: 16)
        #expect(read(wake.fileDescriptor, &byte, byte.count) == 1)
    }

    @Test func `a signal after clear(), but before the thread looks for work, wakes the thread again`() async throws {
        let wake = try WakeSignal()
        let total = 20_000
        let counter = Counter()
        async let consumed = SocketThread.run(name: "consumer") {
            let poller = ZMQPoller()
            poller.add(wake)
            while counter.value.load(ordering: .acquiring) < total {
                guard try poller.poll(timeoutMilliseconds: testTimeoutMilliseconds) == 1 else { return false }
                wake.clear()
            }
            return true
        }
        for _ in 0..<total {
            counter.value.add(1, ordering: .releasing)
            wake.signal()
        }
        #expect(try await consumed)
    }
}

private final class Counter: Sendable {
    let value = Atomic(0)
}
