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

    func receive() throws -> LinkClient.Arrival?
    func grant(_ bytes: Int) throws
    func tick(at time: ContinuousClock.Instant) throws
    func close() throws
}

extension LinkClient: StageInlet {}
