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

/// A transport, and a number that it has from when it is opened until it is closed.
struct OpenTransport: Sendable {
    var transport: any Transport
    var life = UInt64.random(in: 1 ... .max)
}

/// The transports of one stage's host, each at work in a task of its own.
///
/// A window of pushes is handed out in parts: no transport has more of them than its ``Transport/inFlightMax``, and the
/// next part goes out when the host says that the last is on record. A part is answered as a whole.
final class TransportCrew: Sendable {
    private let transports: [String: any Transport]
    private let lanes: [String: Lane]
    private let streams: [String: AsyncStream<[Delivery]>]
    private let sink: PushSink?
    private let state = Mutex(State())

    /// The way to one transport.
    struct Lane {
        var send: @Sendable ([Delivery]) -> Void
        var end: @Sendable () -> Void = {}
        /// See ``Transport/inFlightMax``.
        var inFlightMax: @Sendable () -> Int = { .max }
        /// Another number each time a transport is opened; never 0.
        var life = UInt64.random(in: 1 ... .max)
    }

    private struct State {
        /// What of the window is still to be handed out.
        var rest: ArraySlice<Delivery> = []
        var isWithinPush = false
        var outstanding = 0
        var answers: [TransportAnswer] = []
    }

    /// Where a window was cut.
    struct Cut {
        /// The first push that is still to be handed out.
        var push: UInt64
        /// Whether some of its devices were in an earlier part.
        var isWithinPush: Bool
    }

    init(_ transports: [String: OpenTransport], sink: PushSink? = nil) {
        self.transports = transports.mapValues(\.transport)
        self.sink = sink
        var lanes: [String: Lane] = [:]
        var streams: [String: AsyncStream<[Delivery]>] = [:]
        for (name, open) in transports {
            let (stream, continuation) = AsyncStream.makeStream(of: [Delivery].self)
            streams[name] = stream
            lanes[name] = Lane(
                send: { continuation.yield($0) }, end: { continuation.finish() },
                inFlightMax: { open.transport.inFlightMax }, life: open.life)
        }
        self.lanes = lanes
        self.streams = streams
    }

    /// Transports that are elsewhere: pushes go into the lanes, and their answers come through ``take(_:)``.
    init(lanes: [String: Lane]) {
        (transports, streams, sink) = ([:], [:], nil)
        self.lanes = lanes
    }

    /// The number of each transport that is open, by its name; none with a sink.
    var lives: [String: UInt64] { lanes.mapValues(\.life) }

    /// Whether answers wait to be taken.
    var hasAnswers: Bool { state.withLock { $0.outstanding == 0 && !$0.answers.isEmpty } }

    /// Whether every push of the window has been answered and its answers were taken.
    var isIdle: Bool { state.withLock { $0.outstanding == 0 && $0.answers.isEmpty && $0.rest.isEmpty } }

    /// How many pushes a window had better have: more are handed out in parts.
    var windowMax: Int { lanes.values.map { max(1, $0.inFlightMax()) }.max() ?? .max }

    /// Where the window was cut behind the last part; nil where nothing of it is left.
    var cut: Cut? {
        state.withLock { state in
            state.rest.first.map { Cut(push: $0.id.push, isWithinPush: state.isWithinPush) }
        }
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
                }
            }
        }
    }

    func stop() { for lane in lanes.values { lane.end() } }

    /// Hands out the first part of a window. Its answers are there when ``work(answered:)`` says so, or at once with a
    /// sink.
    func deliver(_ deliveries: [Delivery], noting note: (ArraySlice<Delivery>) throws -> GoingOut?) rethrows {
        guard !deliveries.isEmpty else { return }
        if let sink { return pour(deliveries, into: sink) }
        state.withLock { $0.rest += deliveries }
        try goOn(noting: note)
    }

    /// What of a part goes out, and the answers to the rest.
    struct GoingOut {
        var pushes: ArraySlice<Delivery>
        var answers: [TransportAnswer] = []
    }

    /// Hands out the next part.
    ///
    /// - Parameter note: Told of the part before it goes out. Where it gives nil, the part is still to be handed out.
    func goOn(noting note: (ArraySlice<Delivery>) throws -> GoingOut?) rethrows {
        let part = state.withLock { $0.rest.prefix(partCount($0.rest)) }
        guard let going = try note(part) else { return }
        state.withLock { state in
            state.rest = part.count < state.rest.count ? state.rest.dropFirst(part.count) : []
            state.isWithinPush = state.rest.first?.id.push == part.last?.id.push
            state.outstanding += going.pushes.count
            state.answers += going.answers
        }
        for (name, window) in Dictionary(grouping: going.pushes, by: \.transport) { lanes[name]?.send(window) }
    }

    /// As many whole pushes as the transports may have; of a push to more devices than that, some of them.
    private func partCount(_ rest: ArraySlice<Delivery>) -> Int {
        var room = lanes.mapValues { max(1, $0.inFlightMax()) }
        let most = rest.firstIndex { delivery in
            room[delivery.transport]? -= 1
            return room[delivery.transport].map { $0 < 0 } ?? false
        }
        guard let most else { return rest.count }
        let whole = rest[..<most].lastIndex { $0.id.push != rest[most].id.push }
        return (whole.map { $0 + 1 } ?? most) - rest.startIndex
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

    /// The answers of a part that is wholly answered; nil when there are none yet.
    func takeAnswers() -> [TransportAnswer]? {
        let answers = state.withLock { state -> [TransportAnswer]? in
            guard state.outstanding == 0, !state.answers.isEmpty else { return nil }
            defer { state.answers = [] }
            return state.answers
        }
        return answers?.sorted { $0.id.push < $1.id.push }
    }

    /// Whether the part that was handed out is over, and another is left.
    var canGoOn: Bool { state.withLock { $0.outstanding == 0 && $0.answers.isEmpty && !$0.rest.isEmpty } }
}
