import Coalesce
import Deliver
import JSON
import PipelineKit
import Synchronization
import Time

@testable import PipelineRuntime

/// A deliver stage that loses every twentieth event of its output.
struct OutcomeLosingDeliver: Stage {
    static let kind = DeliverStage.kind
    static let writes = DeliverStage.writes
    private var stage: DeliverStage
    private var produced = 0

    init(_ settings: DeliverSettings, context: StageContext) throws(SettingsError) {
        stage = try DeliverStage(settings, context: context)
    }

    static func transports(of settings: DeliverSettings) -> [TransportBinding] {
        DeliverStage.transports(of: settings)
    }

    mutating func receive(_ event: borrowing InputEvent, at now: Instant, into out: inout Outbox) {
        var inner = Outbox()
        stage.receive(event, at: now, into: &inner)
        pass(&inner, to: &out)
    }

    mutating func receive(_ answer: TransportAnswer, at now: Instant, into out: inout Outbox) {
        var inner = Outbox()
        stage.receive(answer, at: now, into: &inner)
        pass(&inner, to: &out)
    }

    var deadline: Instant? { stage.deadline }

    mutating func wake(at now: Instant, into out: inout Outbox) {
        var inner = Outbox()
        stage.wake(at: now, into: &inner)
        pass(&inner, to: &out)
    }

    static func answer(recordedIn event: borrowing InputEvent) -> TransportAnswer? {
        DeliverStage.answer(recordedIn: event)
    }

    private mutating func pass(_ inner: inout Outbox, to out: inout Outbox) {
        for delivery in inner.takeDeliveries() { out.deliver(delivery) }
        for line in Lines(inner.lines) {
            produced += 1
            if produced % 20 != 0 { out.append { $0.append(line) } }
        }
    }
}

/// A coalesce stage that receives events at the wall clock's time if that is later than the input's time.
struct WallClockCoalesce: Stage {
    @TaskLocal static var wall: @Sendable () -> Instant = { Instant.wall() }

    static let kind = CoalesceStage.kind
    static let writes = CoalesceStage.writes
    private var stage: CoalesceStage

    init(_ settings: CoalesceSettings, context: StageContext) throws(SettingsError) {
        stage = try CoalesceStage(settings, context: context)
    }

    var deadline: Instant? { stage.deadline }

    mutating func receive(_ event: borrowing InputEvent, at now: Instant, into out: inout Outbox) {
        stage.receive(event, at: max(now, Self.wall()), into: &out)
    }

    mutating func wake(at now: Instant, into out: inout Outbox) { stage.wake(at: now, into: &out) }
    var isUnfinished: Bool { stage.isUnfinished }
    mutating func proceed(at now: Instant, into out: inout Outbox) { stage.proceed(at: now, into: &out) }
}

/// An inlet that passes some batches on twice, like a link without a check for repeated batches.
final class RepeatingInlet: StageInlet {
    private let link: LinkClient
    private var batches = 0
    private var batchToRepeat: (first: UInt64, count: Int, now: Instant, lines: [UInt8])?
    /// The lines of the repeated batch, which must stay in memory until the caller has read them.
    private var handedLines: [UInt8] = []

    init(_ link: LinkClient) { self.link = link }

    var socket: any MessageSocket { link.socket }
    var endpoint: String { link.endpoint }
    var pollTimeout: Duration { link.pollTimeout }
    var refusedFrames: Int { link.refusedFrames }
    var upstreamFirst: UInt64 { link.upstreamFirst }
    var firstNeeded: UInt64? {
        get { link.firstNeeded }
        set { link.firstNeeded = newValue }
    }

    func receive() throws -> LinkClient.Arrival? {
        if let batch = batchToRepeat {
            batchToRepeat = nil
            handedLines = batch.lines
            return handedLines.withUnsafeBytes {
                .batch(first: batch.first, count: batch.count, now: batch.now, lines: UnsafeRawBufferPointer($0))
            }
        }
        let arrival = try link.receive()
        if case .batch(let first, let count, let now, let lines) = arrival {
            batches += 1
            if batches % 7 == 0 { batchToRepeat = (first, count, now, Array(lines)) }
        }
        return arrival
    }

    func grant(_ bytes: Int) throws { try link.grant(bytes) }
    func tick(at time: ContinuousClock.Instant) throws { try link.tick(at: time) }
    func open(after: UInt64) throws { try link.open(after: after) }
    func close() throws { try link.close() }
}
