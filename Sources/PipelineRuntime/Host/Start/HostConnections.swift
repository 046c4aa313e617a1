import PipelineKit

/// Makes the sockets of one host: over ZeroMQ, or in a simulation.
protocol HostConnections {
    /// The socket for readers of the stage's log.
    func bindServer() throws -> any MessageSocket
    func bindDoor() throws -> any MessageSocket
    func connect(after: UInt64) throws -> any StageInlet
}

/// A stage's connection to its upstream.
protocol StageInlet: AnyObject {
    var socket: any MessageSocket { get }
    var endpoint: String { get }
    /// How long the host may wait for a message before it must call ``tick(at:)``.
    var pollTimeout: Duration { get }
    var refusedFrames: Int { get }
    /// The first sequence that this consumer may ask for again. The inlet reports it to the upstream.
    var firstNeeded: UInt64? { get set }
    /// The first sequence in the upstream's log, as the upstream last reported it.
    var upstreamFirst: UInt64 { get }

    func receive() throws -> LinkClient.Arrival?
    func grant(_ bytes: Int) throws
    func tick(at time: ContinuousClock.Instant) throws
    func open(after: UInt64) throws
    func close() throws
}

extension LinkClient: StageInlet {}
