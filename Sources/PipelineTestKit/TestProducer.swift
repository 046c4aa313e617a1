import PipelineRuntime
import Synchronization
import Time
import ZeroMQ

/// A test's producer: a thread that owns the socket and executes orders one after the other.
final class TestProducer: Sendable {
    private let orders = ProducerOrders()
    private let wake: WakeSignal
    private let thread: Task<Void, any Error>

    init(_ pipeline: PipelineProcess) throws {
        let wake = try WakeSignal()
        self.wake = wake
        thread = Task { [orders] in
            do {
                try await SocketThread.run(name: "test producer") {
                    try ProducerLoop(try pipeline.producer("test", wake: wake), orders, wake).run()
                }
                orders.end(TestPipelineError.ended)
            } catch {
                orders.end(error)
                throw error
            }
        }
    }

    func send(_ commands: [String]) async throws -> Admission {
        guard !commands.isEmpty else { return Admission() }
        let bytes = commands.flatMap { Array($0.utf8) + [UInt8(ascii: "\n")] }
        return try await withCheckedThrowingContinuation { put(.send(bytes, count: commands.count, $0)) }
    }

    func moveTime(to now: Instant, mark: UInt64) async throws {
        try await withCheckedThrowingContinuation { put(.time(now, mark: mark, $0)) }
    }

    func close() async throws {
        put(.close)
        try await thread.value
    }

    /// Fails all waiting and later orders, and ends the thread. Called when the pipeline has stopped.
    func end(_ error: any Error) {
        orders.end(error)
        wake.signal()
    }

    private func put(_ order: ProducerOrders.Order) {
        orders.put(order)
        wake.signal()
    }
}

/// The orders that wait for the producer's thread.
final class ProducerOrders: Sendable {
    enum Order: Sendable {
        case send([UInt8], count: Int, CheckedContinuation<Admission, any Error>)
        case time(Instant, mark: UInt64, CheckedContinuation<Void, any Error>)
        case close

        /// Makes the order's caller throw the error.
        func fail(_ error: any Error) {
            switch self {
            case .send(_, _, let continuation): continuation.resume(throwing: error)
            case .time(_, _, let continuation): continuation.resume(throwing: error)
            case .close: break
            }
        }
    }

    private let state = Mutex<(waiting: [Order], end: (any Error)?)>(([], nil))

    func put(_ order: Order) {
        let end = state.withLock { state in
            if state.end == nil { state.waiting.append(order) }
            return state.end
        }
        if let end { order.fail(end) }
    }

    func takeAll() -> [Order] {
        state.withLock { state in
            defer { state.waiting = [] }
            return state.waiting
        }
    }

    /// Fails all waiting and later orders. Only the first call's error counts.
    func end(_ error: any Error) {
        let left = state.withLock { state in
            defer { state = ([], state.end ?? error) }
            return state.waiting
        }
        for order in left { order.fail(error) }
    }

    /// - Throws: The error of ``end(_:)``, once it was called.
    func check() throws {
        if let error = state.withLock({ $0.end }) { throw error }
    }
}

/// Executes orders on the thread that owns the producer's socket.
final class ProducerLoop {
    private let producer: Producer
    private let orders: ProducerOrders
    private let wake: WakeSignal
    private var admission = Admission()

    init(_ producer: Producer, _ orders: ProducerOrders, _ wake: WakeSignal) {
        self.producer = producer
        self.orders = orders
        self.wake = wake
    }

    func run() throws {
        producer.onAnswer = { [unowned self] in receive($0) }
        // The door is in this process. It stays silent this long only if the machine hangs or a stage failed at its
        // start.
        _ = try producer.greet(timeout: .seconds(600))
        while true {
            for order in orders.takeAll() {
                guard execute(order) else { return }
            }
            try pump()
        }
    }

    private func pump() throws {
        try orders.check()
        try producer.pump(wait: .seconds(1))
        wake.clear()
    }

    private func execute(_ order: ProducerOrders.Order) -> Bool {
        switch order {
        case .send(let lines, let count, let continuation):
            continuation.resume(with: Result { try send(lines, count) })
        case .time(let now, let mark, let continuation):
            continuation.resume(with: Result { try moveTime(to: now, mark) })
        case .close: return false
        }
        return true
    }

    private func send(_ lines: [UInt8], _ count: Int) throws -> Admission {
        admission = Admission()
        try producer.send(lines, count: count)
        while !producer.isDone { try pump() }
        return admission
    }

    private func moveTime(to now: Instant, _ mark: UInt64) throws {
        try producer.moveTime(to: now, mark: mark)
        while producer.timeMark < mark { try pump() }
    }

    private func receive(_ answer: Producer.Answer) {
        admission.accepted += answer.accepted
        admission.refusals += answer.refusals.map {
            Admission.Refusal(line: $0.line, code: $0.code, path: $0.path, reason: $0.reason)
        }
        admission.saved += answer.saved.map {
            Admission.Saved(line: $0.line, subscription: $0.subscription, activeFrom: $0.activeFrom)
        }
    }
}
