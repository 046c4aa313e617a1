import TestSupport

@testable import PipelineRuntime

/// Sends numbered lines through the real ``Producer``. After a kill, sends all earlier lines again.
final class SimulatedProducer {
    let name: String
    let load: ProducerLoad
    private unowned let world: World
    private var socket: SimulatedDealer
    private var producer: Producer
    private var sent = 0

    init(_ name: String, _ load: ProducerLoad, in world: World) throws {
        self.name = name
        self.load = load
        self.world = world
        (socket, producer) = try Self.connect(name, world)
        listen()
    }

    var isDone: Bool { sent == load.lines.count && producer.isDone }

    private static func connect(_ name: String, _ world: World) throws -> (SimulatedDealer, Producer) {
        let socket = world.network.dealer()
        let door = world.file.sourceStage.bind + "-door"
        return (
            socket,
            try Producer(
                socket, endpoint: door, name: name, secret: "the secret of producer \(name)",
                monotonicNow: world.time.hostTime.monotonicNow)
        )
    }

    private func listen() {
        producer.onAnswer = { [weak self] answer in self?.check(answer) }
    }

    private func check(_ answer: Producer.Answer) {
        for refusal in answer.refusals where !load.refusedLines.contains(Int(refusal.line)) {
            world.problems.append("\(name): line \(refusal.line) was refused: \(refusal.reason)")
        }
    }

    /// Sends the next `count` lines, or fewer at the end of the load.
    func sendLines(_ count: Int) throws {
        let piece = load.lines[sent..<min(sent + count, load.lines.count)]
        sent += piece.count
        try producer.send(Array((piece.joined(separator: "\n") + "\n").utf8), count: piece.count)
    }

    func runOnce() throws { try producer.work() }

    func killAndStartAgain() throws {
        socket.close()
        (socket, producer) = try Self.connect(name, world)
        listen()
        let again = load.lines[..<sent].joined(separator: "\n") + "\n"
        if sent > 0 {
            try producer.send(Array(again.utf8), count: sent)
            world.faults.note(.linesRepeated)
        }
        world.faults.note(.producerKilled)
    }
}
