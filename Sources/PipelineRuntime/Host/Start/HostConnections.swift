import PipelineKit

/// Connects one host with the world: over ZeroMQ, or in a simulation.
protocol HostConnections {
    /// Where consumers come to read the stage's log.
    func bindServer() throws -> any MessageSocket
    /// Where producers come.
    func bindDoor() throws -> any MessageSocket
    /// The way to the upstream.
    func connect(after: UInt64) throws -> any StageInlet
}

/// What a stage's host uses of a link's downstream end.
protocol StageInlet: AnyObject {
    var socket: any MessageSocket { get }
    var endpoint: String { get }
    var patience: Duration { get }
    var refusedFrames: Int { get }
    /// The first sequence that may be asked for again, as the upstream is told.
    var keep: UInt64? { get set }
    /// The first sequence that the upstream's log still has, as it said last.
    var upstreamFirst: UInt64 { get }

    func receive() throws -> LinkClient.Arrival?
    func grant(_ bytes: Int) throws
    func tick(at time: ContinuousClock.Instant) throws
    /// Asks for another part of the log than before.
    func open(after: UInt64) throws
    func close() throws
}

extension LinkClient: StageInlet {}
