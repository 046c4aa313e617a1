import EventLog
import JSON
import PipelineKit
import Synchronization

/// Takes pushes, in order, in place of every transport that the pipeline file names.
public typealias PushSink = @Sendable ([Delivery]) -> Void

/// What a host is given by the program around it.
public struct HostSurroundings: Sendable {
    public var registry: Registry
    public var context: HostContext
    public var clock: HostClock
    /// Where the console transport writes its lines.
    public var console: @Sendable (String) throws -> Void
    /// For `belfry run` and tests: no transport is opened, every push goes here.
    public var sink: PushSink?
    package var time = HostTime()
    package var calls = FileCalls()
    /// How much of a step's outputs is appended at once.
    package var partBytes = Outbox.partBytes

    public init(
        registry: Registry, context: HostContext, clock: HostClock = .wall,
        console: @escaping @Sendable (String) throws -> Void = { print($0) }, sink: PushSink? = nil
    ) {
        self.registry = registry
        self.context = context
        self.clock = clock
        self.console = console
        self.sink = sink
    }
}

/// The transports of one stage, each at work in a task of its own.
///
/// One window of pushes is out at a time, and is answered as a whole.
final class TransportCrew: Sendable {
    private let transports: [String: any Transport]
    private let lanes: [String: Lane]
    private let streams: [String: AsyncStream<[Delivery]>]
    private let sink: PushSink?
    private let state = Mutex(State())

    /// The way to one transport.
    private struct Lane {
        var send: @Sendable ([Delivery]) -> Void
        var end: @Sendable () -> Void
    }

    private struct State {
        var outstanding = 0
        var answers: [TransportAnswer] = []
    }

    init(_ transports: [String: any Transport], sink: PushSink? = nil) {
        self.transports = transports
        self.sink = sink
        var lanes: [String: Lane] = [:]
        var streams: [String: AsyncStream<[Delivery]>] = [:]
        for name in transports.keys {
            let (stream, continuation) = AsyncStream.makeStream(of: [Delivery].self)
            streams[name] = stream
            lanes[name] = Lane(send: { continuation.yield($0) }, end: { continuation.finish() })
        }
        self.lanes = lanes
        self.streams = streams
    }

    /// Transports that are elsewhere: pushes go into the lanes, and their answers come through ``take(_:)``.
    init(lanes: [String: @Sendable ([Delivery]) -> Void]) {
        (transports, streams, sink) = ([:], [:], nil)
        self.lanes = lanes.mapValues { Lane(send: $0, end: {}) }
    }

    /// - Parameter plan: The stage's, which says where the transports may keep what is theirs.
    static func make(
        _ bindings: [TransportBinding], _ registry: Registry, _ surroundings: HostSurroundings, _ plan: HostPlan
    ) throws -> TransportCrew {
        var transports: [String: any Transport] = [:]
        for binding in bindings {
            transports[binding.name] = try registry.transport(binding, of: plan, console: surroundings.console)
        }
        return TransportCrew(surroundings.sink == nil ? transports : [:], sink: surroundings.sink)
    }

    /// Whether answers wait to be taken.
    var hasAnswers: Bool { state.withLock { $0.outstanding == 0 && !$0.answers.isEmpty } }

    /// Whether every push that was handed out has been answered and its answers were taken.
    var isIdle: Bool { state.withLock { $0.outstanding == 0 && $0.answers.isEmpty } }

    func open() async throws {
        for name in transports.keys.sorted() { try await transports[name]?.open() }
    }

    /// Works until ``stop()``; `answered` is called whenever answers have come.
    func work(answered: @escaping @Sendable () -> Void) async {
        await withTaskGroup(of: Void.self) { group in
            for (name, transport) in transports {
                guard let stream = streams[name] else { continue }
                group.addTask {
                    for await window in stream {
                        self.take(await transport.deliver(window))
                        answered()
                    }
                    await transport.close()
                }
            }
        }
    }

    func stop() { for lane in lanes.values { lane.end() } }

    /// Hands out a window of pushes. Their answers are there when ``work(answered:)`` says so, or at once with a sink.
    func deliver(_ deliveries: [Delivery]) {
        if let sink { return pour(deliveries, into: sink) }
        state.withLock { $0.outstanding += deliveries.count }
        for (name, window) in Dictionary(grouping: deliveries, by: \.transport) { lanes[name]?.send(window) }
    }

    private func pour(_ deliveries: [Delivery], into sink: PushSink) {
        sink(deliveries)
        state.withLock { $0.answers += deliveries.map { TransportAnswer($0.id, .accepted) } }
    }

    func take(_ answers: [TransportAnswer]) {
        state.withLock {
            $0.answers += answers
            $0.outstanding -= answers.count
            precondition($0.outstanding >= 0, "a transport gives one answer for each push")
        }
    }

    /// The answers of a window that is wholly answered; nil when there are none yet.
    func takeAnswers() -> [TransportAnswer]? {
        let answers = state.withLock { state -> [TransportAnswer]? in
            guard state.outstanding == 0, !state.answers.isEmpty else { return nil }
            defer { state.answers = [] }
            return state.answers
        }
        return answers?.sorted { $0.id.push < $1.id.push }
    }
}
